// The quickstart shows what retries do to a dependency in trouble, and what this library does instead. It needs nothing
// but the loopback interface, and takes about 12 seconds:
//
//	go run ./examples/quickstart
//
// Its exit code is 1 if something that it claims did not hold.
package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

func main() {
	code, err := run(os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		code = 1
	}
	os.Exit(code)
}

func run(w io.Writer) (code int, err error) {
	fmt.Fprint(w, beforeBrownout())
	all, err := brownout(w)
	if err != nil {
		return 0, err
	}
	fmt.Fprint(w, beforeFigures())
	printFigures(w, all)
	fmt.Fprint(w, afterFigures())
	code = verdict(w, brownoutClaims(all))

	fmt.Fprint(w, beforePurchases)
	purchases, refused, err := buyBooks()
	if err != nil {
		return 0, err
	}
	printPurchases(w, purchases)
	fmt.Fprint(w, afterPurchases(refused))
	return max(code, verdict(w, orderClaims(purchases))), nil
}

// brownout runs the first part, and shows how it goes.
func brownout(w io.Writer) ([]figures, error) {
	clock := newClock()
	contenders, err := newContenders(clock)
	if err != nil {
		return nil, err
	}
	var watching sync.WaitGroup
	watching.Go(func() { watch(w, clock, contenders) })
	drive(clock, contenders)
	watching.Wait()
	if clock.stood > tolerance {
		fmt.Fprintf(w, "\n(The machine stood still for %.2f s in between, and the run with it.)\n", clock.stood.Seconds())
	}

	var all []figures
	for _, c := range contenders {
		c.dependency.close()
		all = append(all, newFigures(c.name, c.record.outcomes, c.dependency.arrived()))
	}
	return all, nil
}
