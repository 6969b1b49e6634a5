// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/xml"
	"fmt"
	"strings"
	"testing"

	"github.com/firesteel-dev/firesteel/internal/testutil"
)

const (
	pictureLine  = 19 // the height of a line, in pixels
	pictureWidth = 980
	pictureTop   = 64
)

// The picture on the first screen is what explain prints for an application that waits for its queue, up to its conditions.
func TestPicture(t *testing.T) {
	const command = "$ kubectl spark explain pi"
	said := read(t, "internal/explain/testdata/queued-in-a-queue.txt")
	shown, _, found := strings.Cut(said, "\nConditions\n")
	if !found {
		t.Fatal("explain has no conditions any more")
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(shown), "\n") {
		lines = append(lines, wrapped(line)...)
	}
	var b strings.Builder
	height := pictureTop + (len(lines)+2)*pictureLine
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-labelledby="title">`+"\n", pictureWidth, height)
	fmt.Fprintf(&b, "<title id=\"title\">kubectl spark explain: %s</title>\n", escaped(lines[0]))
	b.WriteString(`<style>text{font:13.5px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d6deeb;}` +
		`.c{fill:#7fdbca}.h{fill:#ffd580;font-weight:bold}.s{fill:#fff;font-weight:bold}</style>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#0f1b2d"/>`+"\n", pictureWidth, height)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="20" r="6" fill="%s"/>`+"\n", 20+20*i, color)
	}
	fmt.Fprintf(&b, `<text class="c" x="20" y="%d">%s</text>`+"\n", pictureTop-8, command)
	for i, line := range lines {
		class := ""
		switch {
		case i == 0:
			class = ` class="s"`
		case line != "" && !strings.HasPrefix(line, " "):
			class = ` class="h"`
		}
		if line != "" {
			text := strings.TrimLeft(line, " ")
			fmt.Fprintf(&b, `<text%s x="%d" y="%d">%s</text>`+"\n", class, 20+8*(len(line)-len(text)), pictureTop+(i+1)*pictureLine-4, escaped(text))
		}
	}
	b.WriteString("</svg>\n")
	testutil.Golden(t, "images/explain.svg", b.String())
}

// wrapped cuts a line that is wider than the picture between two words.
func wrapped(line string) []string {
	const columns = 117
	if len(line) <= columns {
		return []string{line}
	}
	cut := strings.LastIndex(line[:columns], " ")
	return append([]string{line[:cut]}, wrapped("    "+line[cut+1:])...)
}

// escaped is a line as the text of an element. Blanks in a row stay.
func escaped(line string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(line)) // a builder takes everything
	return strings.ReplaceAll(b.String(), "  ", "\u00a0\u00a0")
}
