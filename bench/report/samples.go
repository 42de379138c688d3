package report

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Samples are what was measured: of each benchmark, by unit, in the order of the rounds. A benchmark on more than one
// processor has their number in its name, as Go prints it.
type samples map[string]map[string][]float64

// read reads what benchmarks have printed into files.
func read(files ...string) (samples, error) {
	s := samples{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			s.add(line)
		}
	}
	return s, nil
}

// add adds a line of the form "BenchmarkX 100 12.3 ns/op 0 B/op"; any other it leaves out.
func (s samples) add(line string) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return
	}
	name := strings.TrimPrefix(fields[0], "Benchmark")
	if s[name] == nil {
		s[name] = map[string][]float64{}
	}
	for pair := range slices.Chunk(fields[2:], 2) {
		if len(pair) < 2 {
			return
		}
		if v, err := strconv.ParseFloat(pair[0], 64); err == nil {
			s[name][pair[1]] = append(s[name][pair[1]], v)
		}
	}
}

// of is the median of a unit; NaN if it was not measured.
func (s samples) of(name, unit string) float64 { return median(s[name][unit]) }

// beyond is how much more it is than a reference, round by round.
func (s samples) beyond(name, reference, unit string) float64 {
	return s.pair(name, reference, unit, func(v, ref float64) float64 { return v - ref })
}

// ratio is to a reference, round by round.
func (s samples) ratio(name, reference, unit string) float64 {
	return s.pair(name, reference, unit, func(v, ref float64) float64 { return v / ref })
}

// pair is the median of what f makes of both, which were measured in one round. What disturbed the round is in both.
func (s samples) pair(name, reference, unit string, f func(v, ref float64) float64) float64 {
	a, b := s[name][unit], s[reference][unit]
	var all []float64
	for i := range min(len(a), len(b)) {
		all = append(all, f(a[i], b[i]))
	}
	return median(all)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// names are those of the benchmarks that match.
func (s samples) names(pattern string) []string {
	var names []string
	for name := range s {
		if regexp.MustCompile("^" + pattern + "$").MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// results are the files of a folder that there are.
func results(folder string) []string {
	files, _ := filepath.Glob(filepath.Join(folder, "*.txt"))
	return files
}
