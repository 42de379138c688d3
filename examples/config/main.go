// Command config shows where settings may come from: the program, the environment, and a file that may change while
// calls are under way.
//
//	INVENTORY_MAX_RETRIES=2 go -C examples/config run . clients.json
package main

import (
	"context"
	"log"
	"os"
	"os/signal"

	"github.com/a-seed-e0941262/resilient"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: config FILE; change the file and see what becomes of it, end with ^C")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(file string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	builder, err := fromEnvironment(resilient.New("inventory").Defaults(resilient.Conservative), "INVENTORY_")
	if err != nil {
		return err
	}
	client, err := builder.Build()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return watch(ctx, resilient.DefaultRegistry(), file, func(err error) {
		if err != nil {
			log.Print("not applied: ", err)
			return
		}
		log.Print("applied")
	})
}
