"""What the rules decide before any model: instructions to change data, small talk, languages that nobody here reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from querybus_generator.steps.classify import chat_topic
from querybus_generator.steps.unsupported_language import is_third_language
from querybus_generator.wording.write_intent import write_intent

INSTRUCTIONS = """
delete all orders
Delete order 5
please remove customer 7
Can you delete the orders of 2020?
I want to delete everything
wipe the database
erase all customer records
drop table customers
Drop the orders table
DROP TABLE students; --
SELECT 1; DROP TABLE x
truncate orders
Clear the table orders
update all prices by 10%
update the price of product 5 to 10
set the price of product 5 to 10
change the status of order 5 to shipped
UPDATE orders SET status = 'x'
Insert a new customer named Bob
add a new customer named Bob
INSERT INTO t VALUES (1)
alter table orders add column x
create table foo (id int)
show all customers and then delete them
List orders; delete all of them
删除所有订单
请删除订单5
帮我把所有订单删除
清空订单表
把价格改为5
将所有产品的价格提高10%
更新所有客户的状态为已关闭
修改订单5的状态为已发货
插入一条新客户记录
新增一个客户张三
删掉客户表
删表
查一下客户，然后删除他们
能不能删除全部订单
创建一张表
"""

QUESTIONS = """
show deleted orders
orders updated last month
How many orders were deleted in 2020?
What is the update date of order 5?
Update me on sales
drop in sales last month
Drop rate by region
Which customers' orders should be deleted?
How do I delete an order?
Set of all customers
create a table of sales by month
Create a report of customers
Remove duplicates and list all cities
remove cancelled orders from the total
Update frequency per table
List created and deleted orders
List names and update dates
Show customers who removed items from the cart
Count of inserts per day
Delete flag count
Add up all sales
add the average to the list
What changes were made to orders?
Which products increased by 10%?
change in price by month
Clear sales trend by month
已删除的订单有多少
查询删除的订单
上个月更新的订单
删除时间在昨天的订单
新增客户数
新增客户有多少
更新日期最近的订单
被删除的客户
创建时间最早的订单
统计每天插入的记录数
创建一张报表
把订单按月分组列出
把已删除的订单列出来
修改过的订单
添加到购物车的商品
增加的客户数量
清除率是多少
将销售额按地区汇总
最近更新的产品是哪些
删除了多少订单
"""

THIRD_LANGUAGES = """
Combien de clients y a-t-il ?
Affichez les clients de Paris
Wie viele Kunden gibt es?
¿Cuántos clientes hay?
Quantos clientes existem?
Quanti clienti ci sono?
Hoeveel klanten zijn er?
顧客は何人いますか
고객이 몇 명입니까?
Сколько клиентов?
كم عدد العملاء؟
Πόσοι πελάτες υπάρχουν;
"""

READABLE = """
How many singers are from São Paulo?
List all orders of customers in Los Angeles
Which documents are named "Les Misérables"?
顾客有多少？
customers 有多少
Show the restaurants called La Casa del Mar
???
"""

CHAT = {
    "Hello!": "greeting",
    "good morning": "greeting",
    "您好": "greeting",
    "Thanks a lot!": "thanks",
    "谢谢你": "thanks",
    "What can I ask?": "abilities",
    "what can you do for me?": "abilities",
    "我可以问什么？": "abilities",
    "你能做什么": "abilities",
    "help": "abilities",
    "Hello, how many customers are there?": None,
    "What can customers order?": None,
    "help desk tickets per month": None,
    "你好，有多少客户？": None,
    "greetings by language": None,
}


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("question", lines(INSTRUCTIONS))
def test_an_instruction_to_change_data_is_seen(question: str):
    assert write_intent(question)


@pytest.mark.parametrize("question", lines(QUESTIONS))
def test_a_question_about_changes_is_no_instruction(question: str):
    assert write_intent(question) is None


@pytest.mark.parametrize("question", lines(THIRD_LANGUAGES))
def test_a_third_language_is_seen(question: str):
    assert is_third_language(question)


@pytest.mark.parametrize("question", lines(READABLE))
def test_names_from_elsewhere_make_no_third_language(question: str):
    assert not is_third_language(question)


@pytest.mark.parametrize(("question", "topic"), CHAT.items())
@pytest.mark.requirement("000.2", "000.5")
def test_only_a_whole_message_of_small_talk_is_chat(question: str, topic: str | None):
    assert chat_topic(question) == topic


@pytest.mark.data
def test_no_question_of_the_shared_data_is_taken_for_anything_else():
    root = Path(__file__).parents[3]
    folder = Path(os.environ.get("QUERYBUS_DATA", root / "../shared/data")) / "spider"
    if not folder.is_dir():
        pytest.skip(f"no questions in {folder}")
    questions = [
        item["question"]
        for name in ("questions_dev.json", "questions_train.json")
        for item in json.loads((folder / name).read_text(encoding="utf-8"))
    ]
    assert len(questions) > 1_000
    assert [question for question in questions if write_intent(question)] == []
    assert [question for question in questions if is_third_language(question)] == []
    assert [question for question in questions if chat_topic(question)] == []
