// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"
	"time"
)

func TestRedact(t *testing.T) {
	const hidden = redacted
	longest := strings.Repeat("a", maxPattern)
	cases := map[string]struct {
		reason     string
		tails      LogTails
		text, want string
	}{
		"Conf":        {"Spark's own form", LogTails{}, "spark.hadoop.fs.s3a.secret.key=abc spark.app.name=pi", "spark.hadoop.fs.s3a.secret.key=" + hidden + " spark.app.name=pi"},
		"Environment": {"what env prints", LogTails{}, "AWS_SECRET_ACCESS_KEY=a/b+c\nHOME=/root", "AWS_SECRET_ACCESS_KEY=" + hidden + "\nHOME=/root"},
		"JSON":        {"with spaces in it", LogTails{}, `{"user": "ann", "password": "a \"b\" c", "n": 1}`, `{"user": "ann", "password": ` + hidden + `, "n": 1}`},
		"YAML":        {"a line", LogTails{}, "  token: abc\n  host: db", "  token: " + hidden + "\n  host: db"},
		"Scala":       {"a map", LogTails{}, "Map(user -> ann, password -> abc)", "Map(user -> ann, password -> " + hidden + ")"},
		"Tuple":       {"a pair of Spark's configuration", LogTails{}, "(spark.ssl.keyPassword,abc) (a,b)", "(spark.ssl.keyPassword," + hidden + ") (a,b)"},
		"Nested":      {"in the value of another", LogTails{}, "opts=-Dpassword=abc", "opts=-Dpassword=" + hidden},
		"JDBC":        {"in a URL", LogTails{}, "jdbc:mysql://db/x?user=ann&password=abc&ssl=1", "jdbc:mysql://db/x?user=ann&password=" + hidden + "&ssl=1"},
		"UserInfo":    {"before a host", LogTails{}, "https://ann:abc@db/x", "https://" + hidden + "@db/x"},
		"Exception":   {"a message is no value", LogTails{}, "org.x.InvalidTokenException: expired yesterday", "org.x.InvalidTokenException: expired yesterday"},
		"Words":       {"a word alone is no name", LogTails{}, "the password is wrong, token", "the password is wrong, token"},
		"OwnKeys":     {"the application's expression goes before the default", LogTails{Keys: "(?i)pin"}, "pin=1 password=2", "pin=" + hidden + " password=2"},
		"OwnTexts":    {"whatever it matches", LogTails{Texts: `\d{4}-\d{4}`}, "card 1234-5678 of ann", "card " + hidden + " of ann"},
		"Java":        {"an expression that only Java knows is the default", LogTails{Keys: "(?<!x)pin", Texts: "(?=a)"}, "pin=1 password=2", "pin=1 password=" + hidden},
		"Everything":  {"an expression that matches nothing at all", LogTails{Keys: "", Texts: "x*"}, "abc", "abc"},
		"Long":        {"an expression that is too long", LogTails{Texts: strings.Repeat("a", maxPattern+1)}, longest + "a", longest + "a"},
		"Longest":     {"the longest expression", LogTails{Texts: longest}, longest + "a", hidden + "a"},
		"Twice":       {"what is hidden is not hidden again", LogTails{}, "password=token=abc", "password=" + hidden},
		"List":        {"a comma makes a pair in brackets only", LogTails{}, "user,password,abc", "user,password,abc"},
		"Cut":         {"a value without an end", LogTails{}, `"secret": "abc`, `"secret": ` + hidden},
		"Hidden":      {"nothing at all", LogTails{Hidden: true}, "abc", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.tails.Redact(tc.text); got != tc.want {
				t.Errorf("%s: got\n%s\nwant\n%s", tc.reason, got, tc.want)
			}
		})
	}
}

// What was stored before logs were hidden is taken back, in the record that is stored next.
func TestHiddenLogsAreTakenBack(t *testing.T) {
	stored := []Attempt{{Number: 1, LogTail: "abc"}, {Number: 2, LogTail: "def"}}
	shown, hidden := LogTails{}.of(stored), LogTails{Hidden: true}.of(stored)
	if len(shown) != 2 || shown[0].LogTail != "abc" || stored[0].LogTail != "abc" {
		t.Errorf("shown are %+v of %+v", shown, stored)
	}
	if len(hidden) != 2 || hidden[0].LogTail+hidden[1].LogTail != "" || hidden[1].Number != 2 {
		t.Errorf("hidden are %+v", hidden)
	}
}

// What a driver prints costs no more time than its length justifies.
func TestRedactIsLinear(t *testing.T) {
	for name, text := range map[string]string{
		"Pairs":  strings.Repeat("a=", 128<<10),
		"Quotes": strings.Repeat(`"`, 256<<10),
		"Commas": strings.Repeat("a,", 128<<10),
		"Word":   strings.Repeat("a", 256<<10),
		"Spaces": "a" + strings.Repeat(" ", 256<<10),
		"URLs":   strings.Repeat("://a:", 50<<10),
	} {
		began := time.Now()
		LogTails{Texts: `(a|aa)+$`}.Redact(text)
		if took := time.Since(began); took > 20*time.Second { // quadratic, it would take minutes
			t.Errorf("%s: took %s", name, took)
		}
	}
}
