package main

import (
	"fmt"
	"strconv"

	"github.com/a-seed-e0941262/resilient/bench/measure"
)

// child is one measurement, in this process.
func child(what string, args []string) error {
	switch what {
	case "server":
		return measure.Server()
	case "loopback":
		return measure.Loopback(number(args[0]), number(args[1]))
	case "inflight":
		return measure.InFlight(args[0], args[1], number(args[2]))
	case "downloads":
		return measure.Downloads(args[0], number(args[1]), number(args[2]))
	case "upload":
		return measure.Upload(args[0], args[1], number(args[2]), number(args[3]))
	}
	return fmt.Errorf("no measurement %q", what)
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}
