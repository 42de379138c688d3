package resilient

import "strings"

// nearest is the one of the names that was probably meant, or "" if none is near. Case does not matter, for it is what
// is mistyped most, and a third of the letters may be wrong: retries is near to retry.
func nearest(name string, names []string) string {
	best, least := "", max(2, (len(name)+2)/3)+1
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is how many letters have to be inserted, left out or replaced to make b of a (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
