"""What people say in a thread about the answer before, requests to change stored data beside them, and what models ask back.

Written over several schemas (a shop, a school, flights, a clinic, a warehouse) in both languages, before the rules that they test.
"""

from __future__ import annotations

from typing import Final

REFINEMENTS: Final = tuple(
    line.split(" | ")
    for line in """
How many customers are there per city? | Can you update this list to show the country as well?
List the airports with the most flights | Great! Can you modify that to only show Berlin?
Average grade per class | Could you update the table to include the average age?
Show revenue by store | Please add a column with the number of orders
Customers per city | Remove the cities with fewer than 50 customers
Share of patients per ward | Can you change it to percentages?
Suppliers and their orders | Drop the ones without orders
Daily temperature readings | delete the outliers from this
Sales per region | can you set the period to 2025?
Revenue by month | Insert a total row at the bottom
Students and their teachers | Nice work. Now remove the second column
List all flights from Oslo | Delete those that were cancelled
Doctors by department | Add them up per department
Stock by warehouse | Change the order so that the largest comes first
Top ten products | reduce the list to 5 rows
Teachers by subject | Please update the result and sort it by name
Visits per month | Can you change that from months to quarters?
Airlines with their fleets | Drop everything below 10 aircraft from the list
Orders by status | Could you rename the last column to Share?
Pupils by age | Modify the query to leave out pupils without a class
Invoices of June | Great, thanks! Then add the customer's name to each row
Patients by age group | create a column for the share of each group
Rooms by floor | erase the third column from the table, please
Wages by team | increase the number of rows to 20
各城市的客户数 | 请修改成只看上海
每个班级的平均成绩 | 把这个列表改成按月统计
各科室的病人数 | 删除人数少于10的那些科室
航班最多的机场 | 在结果里增加一列国家
各门店的销售额 | 把它改成百分比
库存最多的仓库 | 去掉这张表里的最后一列
每月订单数 | 能不能更新一下上面的结果，只显示2025年
供应商的订单 | 把没有订单的那些删掉
教师名单 | 请在表格最后插入一行合计
各地区的收入 | 将结果的排序改为从高到低
机型和数量 | 太好了！再添加一列航空公司名称
各楼层的房间数 | 把第二列改名为数量
""".strip().splitlines()
)
"""The question before, and what is said of its answer."""

CHANGES_IN_THREAD: Final = tuple(
    line.split(" | ")
    for line in """
How many customers are there per city? | Delete all customers
List the orders of June | delete order 5
Average grade per class | set the grade of student 7 to 1
Show revenue by store | Insert a new store named Harbour
Flights from Oslo | UPDATE flights SET airline = 'X'
Stock by warehouse | Drop the table stock
Doctors by department | change the salary of doctor 12 to 5000
Products | increase all prices by 10%
各城市的客户数 | 删除所有客户
订单列表 | 把订单7的状态改为已付款
学生名单 | 新增一个学生张三
各门店的销售额 | 清空门店表
""".strip().splitlines()
)
"""The question before, and a request to change what is stored."""

QUESTIONS_BACK: Final = tuple(
    line.replace("\\n", "\n")
    for line in r"""
Do you mean the order date, or the payment date?
Do you mean gross revenue or net revenue?
Which year do you want?
For which period?
Should cancelled flights be counted as well?
Are you asking about departures or arrivals?
What counts as an active student: one with a course this term, or one who has not left?
Would you like the average per class or per teacher?
"Best" could be by grade or by attendance. Which one?
Is the amount before or after tax?
Do you want patients by ward, by doctor, or by month?
By "large" do you mean the number of seats or the length of the aircraft?
There are two kinds of dates here. Shall I use the admission date or the discharge date?
Just to be sure: only customers with an order, or all customers?
Which of these is meant?\n1. stock in pieces\n2. stock in value
I can read this in two ways:\n- by store\n- by region\nWhich one fits?
Should I include the products that were never sold?
Before I write the query, how should ties be treated?
Sorry, whose salary - the teacher's or the principal's?
How many should "a few" be?
Please tell me whether you want the latest price or the average price.
Let me know if you mean Paris in France or Paris in Texas.
I need to know which warehouse you mean.
It depends on what you call late: after the planned time, or more than a day after it.
您是指下单日期还是付款日期？
需要包含已取消的订单吗？
请问是按月统计还是按季度统计？
您想看哪一年的数据？
"活跃学生"是指本学期有课的学生，还是没有退学的学生？
是要看平均值，还是总和呢？
这里有两个日期，用入院日期还是出院日期？
"大客户"怎么算：按订单数、按金额还是按会员等级？
要不要把没有卖出过的产品也算上？
请告诉我您要看的是哪个仓库
按科室分，还是按医生分？
是指出发的航班，还是到达的航班
""".strip().splitlines()
)
"""Replies of a model that ask the person for a detail; `\\n` parts lines."""

STATEMENTS_WITHOUT_SQL: Final = tuple(
    """
The database has no weather data, so this cannot be answered.
I cannot help with that request.
The tables hold orders and customers only.
There were 120 customers in Berlin last year.
This question has nothing to do with the schema that was given.
数据库里没有天气数据，无法回答。
抱歉，我无法回答这个问题。
""".strip().splitlines()
)
"""Replies of a model that ask nothing."""
