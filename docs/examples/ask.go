// Ask one question over the bus.
// go mod init ask && go get github.com/nats-io/nats.go && go run ask.go "How many customers are there?"
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

type answer struct {
	Status  string  `json:"status"`
	QueryID string  `json:"query_id"`
	Outcome string  `json:"outcome"`
	Message string  `json:"message"`
	Rows    [][]any `json:"rows"`
	Code    string  `json:"code"`
	Detail  string  `json:"detail"`
}

func main() {
	tenant, credential := os.Getenv("QUERYBUS_TENANT"), os.Getenv("QUERYBUS_CREDENTIAL")
	connection, err := nats.Connect(os.Getenv("QUERYBUS_NATS_URL"),
		nats.UserInfo(tenant+"."+credential, os.Getenv("QUERYBUS_CREDENTIAL_PASSWORD")),
		nats.CustomInboxPrefix("_INBOX.out."+tenant+"."+credential))
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	call := func(verb string, body map[string]any) (found answer) {
		data, _ := json.Marshal(body)
		reply, err := connection.Request("querybus.v1.call."+tenant+"."+credential+"."+verb, data, 35*time.Second)
		if err != nil {
			log.Fatal(err)
		}
		if err := json.Unmarshal(reply.Data, &found); err != nil {
			log.Fatal(err)
		}
		return found
	}
	found := call("ask", map[string]any{
		"question": os.Args[1], "connection": os.Getenv("QUERYBUS_CONNECTION"), "wait_seconds": 30,
	})
	if found.Status == "" {
		log.Fatalf("refused: %s: %s", found.Code, found.Detail)
	}
	for found.Status != "finished" {
		found = call("answer", map[string]any{"query_id": found.QueryID, "wait_seconds": 30})
	}
	fmt.Println(found.Outcome, found.Message)
	for _, row := range found.Rows {
		fmt.Println(row...)
	}
}
