package measure

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/a-seed-e0941262/resilient/bench/contender"
)

// Downloads prints how fast large bodies arrive, in rounds of all contenders in random order.
func Downloads(address string, rounds, size int) error {
	names := []string{contender.Bare, contender.Again, contender.Resilient, contender.Failsafe, contender.DIY}
	clients := map[string]contender.Do{}
	for _, c := range contender.Named(names...) {
		clients[c.Name] = c.With(transport(1))
	}
	buffer := make([]byte, 32<<10)
	for round := range rounds + 1 {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range slices.Clone(names) {
			took, err := download(clients[name], address+"/bytes?n="+strconv.Itoa(size), buffer, int64(size))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if round > 0 { // the first has to connect
				fmt.Printf("BenchmarkDownload/%s 1 %d ns/op %.1f MB/s\n", name, took, float64(size)/1e6/took.Seconds())
			}
		}
	}
	return nil
}

func download(do contender.Do, url string, buffer []byte, size int64) (time.Duration, error) {
	begun := time.Now()
	resp, err := do(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	n, err := io.CopyBuffer(onlyWriter{io.Discard}, resp.Body, buffer)
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes have arrived of %d", n, size)
	}
	return time.Since(begun), err
}

// Upload prints how much memory it takes to send a large body, and how fast it goes. Each contender wants a process of its
// own.
func Upload(name, address string, rounds, size int) error {
	do := contender.Named(name)[0].With(transport(1))
	for _, replayable := range []bool{false, true} {
		kind := "once"
		if replayable {
			kind = "replayable"
		}
		for range rounds {
			runtime.GC()
			before := heap()
			peak, stop := watchHeap()
			begun := time.Now()
			resp, err := do(context.Background(), http.MethodPut, address+"/take", upload(int64(size), replayable))
			took := time.Since(begun)
			stop()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			resp.Body.Close()
			fmt.Printf("BenchmarkUpload/%s/%s 1 %d ns/op %.1f MB/s %.2f peak-MiB\n", kind, name, took,
				float64(size)/1e6/took.Seconds(), max(0, float64(peak.Load())-float64(before))/(1<<20))
		}
	}
	return nil
}

// upload is a body of that many bytes, which no memory holds.
func upload(size int64, replayable bool) io.Reader {
	if replayable {
		return section{io.NewSectionReader(zeros{}, 0, size)}
	}
	return io.LimitReader(endless{}, size)
}

type section struct{ *io.SectionReader }

func (s section) Again() io.Reader { return io.NewSectionReader(zeros{}, 0, s.Size()) }

type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// watchHeap notes the largest heap from now until it is stopped.
func watchHeap() (peak *atomic.Uint64, stop func()) {
	peak = &atomic.Uint64{}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			peak.Store(max(peak.Load(), heap()))
			select {
			case <-end:
				return
			case <-time.After(500 * time.Microsecond):
			}
		}
	}()
	return peak, func() {
		close(end)
		<-ended
	}
}

func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
