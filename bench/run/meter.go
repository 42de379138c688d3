package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/a-seed-e0941262/resilient/bench/contender"
)

// An effort is how often each thing is measured.
type effort struct {
	rounds    int    // of benchmarks
	benchtime string // of each, in a round
	loops     int    // of loopback
	scale     int    // of the calls in each
	processes int    // for calls in flight
	flight    int    // calls in flight
	downloads int
	size      int // of a body
	hour      bool
}

func (e effort) String() string {
	return fmt.Sprintf("%d rounds of benchmarks of %s, %d of loopback, %d of downloads, %d processes for each client, %d calls in flight, "+
		"bodies of %d MiB", e.rounds, e.benchtime, e.loops, e.downloads, e.processes, e.flight, e.size>>20)
}

//nolint:gochecknoglobals // only read
var (
	full  = effort{10, "50ms", 30, 2, 3, 10_000, 40, 64 << 20, true}
	brief = effort{3, "5ms", 3, 1, 1, 1_000, 3, 16 << 20, false}
)

// A meter measures.
type meter struct {
	home string
	effort
	file io.Writer // of the step
}

// A step is one of the measurements. Its results go to the file of its name.
type step struct {
	name, what string
	do         func() error
}

func (m *meter) steps() []step {
	return []step{
		{"micro", "decisions, calls over a stub, reads", m.micro},
		{"loopback", "calls over loopback", m.loopback},
		{"inflight", "calls in flight", m.inFlight},
		{"transfer", "downloads and uploads", m.transfer},
		{"scale", "many names, many authorities, an hour of calls", m.scaling},
	}
}

func (m *meter) out(name string) string { return filepath.Join(m.home, "out", name) }

// into makes a measurement whose results go to a file.
func (m *meter) into(s step) error {
	f, err := os.Create(m.out(s.name + ".txt"))
	if err != nil {
		return err
	}
	m.file = f
	return errors.Join(s.do(), f.Close())
}

// micro runs the benchmarks in rounds, so that what disturbs them disturbs all alike.
func (m *meter) micro() error {
	binary, err := m.compile(".")
	if err != nil {
		return err
	}
	for range m.rounds {
		for _, part := range []struct{ bench, cpu string }{
			{"Clock$|Budget|Breaker|Limit|Rate|Together", "1,2"},
			{"Pipeline|Do|Read|ClockReads", "1"},
		} {
			if err := m.run(binary, "-test.run=^$", "-test.bench="+part.bench, "-test.cpu="+part.cpu, "-test.benchtime="+m.benchtime); err != nil {
				return err
			}
		}
	}
	return nil
}

// compile builds the tests of a package.
func (m *meter) compile(pkg string) (string, error) {
	binary := m.out(filepath.Base(pkg) + ".test")
	cmd := exec.Command("go", "test", "-c", "-o", binary, pkg)
	cmd.Dir, cmd.Stderr = m.home, os.Stderr
	return binary, cmd.Run()
}

func (m *meter) loopback() error {
	return m.self("loopback", strconv.Itoa(m.loops), strconv.Itoa(m.scale))
}

func (m *meter) inFlight() error {
	names := []string{contender.Bare, contender.Again, contender.Resilient, contender.Failsafe, contender.DIY,
		"retryablehttp-timeout", contender.Timeout, contender.Wrapped}
	return m.withServer(func(address string) error {
		for range m.processes {
			for _, name := range names {
				for _, at := range []string{"", address} {
					m.attempt("inflight", name, at, strconv.Itoa(m.flight))
				}
			}
		}
		return nil
	})
}

func (m *meter) transfer() error {
	return m.withServer(func(address string) error {
		size := strconv.Itoa(m.size)
		if err := m.self("downloads", address, strconv.Itoa(m.downloads), size); err != nil {
			return err
		}
		for range m.processes {
			for _, name := range []string{contender.Bare, contender.Again, contender.Resilient, contender.Failsafe, contender.DIY,
				"retryablehttp", "heimdall", "resty2", "resty3"} {
				m.attempt("upload", name, address, "3", size)
			}
		}
		return nil
	})
}

// scaling runs the benchmarks of the library's own folder of that name.
func (m *meter) scaling() error {
	binary, err := m.compile("../scale")
	if err != nil {
		return err
	}
	if m.hour {
		binary = "RESILIENT_SCALE=1 " + binary
	}
	return m.run(binary, "-test.run=^$", "-test.bench=.", "-test.benchtime=1x")
}

// attempt is self, for one of many: what goes wrong for one client is no reason to stop.
func (m *meter) attempt(args ...string) {
	if err := m.self(args...); err != nil {
		log.Printf("left out: %v", err)
	}
}

// self runs this program as a child.
func (m *meter) self(args ...string) error {
	me, err := os.Executable()
	if err != nil {
		return err
	}
	return m.run(me, append([]string{"child"}, args...)...)
}

// run runs a program whose output is the result. Before its name there may be a setting of the environment.
func (m *meter) run(program string, args ...string) error {
	setting, name, set := strings.Cut(program, " ")
	if !set {
		name = program
	}
	cmd := exec.Command(name, args...)
	if set {
		cmd.Env = append(os.Environ(), setting)
	}
	cmd.Stdout, cmd.Stderr = m.file, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(name), strings.Join(args, " "), err)
	}
	return nil
}

// withServer has a server in a process of its own.
func (m *meter) withServer(do func(address string) error) error {
	me, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(me, "child", "server")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		stdin.Close() // ends it
		_ = cmd.Wait()
	}()
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return err
	}
	return do(strings.TrimSpace(address))
}
