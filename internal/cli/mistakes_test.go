// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	v1 "github.com/firesteel-dev/firesteel/api/spark/v1"
	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

// mistake is a command line, and what the answer names.
type mistake struct{ line, meant string }

// mistakes are five of each verb.
var mistakes = map[string][]mistake{
	"adopt":      {{"adpot d", "adopt?"}, {"adopt", "adopt DRIVER"}, {"adopt d --dry-run=sever", "server?"}, {"adopt d -o yml", "yaml?"}, {"adopt d --nam x", "--name?"}},
	"check":      {{"chekc", "check?"}, {"check jobs", "write kubectl spark check"}, {"check -o jsn", "json?"}, {"check --namespaec x", "--namespace?"}, {"check --conifg x", "--config?"}},
	"completion": {{"completoin", "completion?"}, {"completion bsh", "bash?"}, {"completion fihs", "fish?"}, {"completion zs", "zsh?"}, {"completion bash --no-description", "--no-descriptions?"}},
	"connect": {
		{"conect notebooks", "connect?"}, {"connect", "write the name"}, {"connect notebook", "notebooks?"}, {"connect notebooks --timeout 5", "5m"}, {"connect notebooks python a.py", "--exec"},
	},
	"convert": {
		{"convret", "convert?"}, {"convert", "-- spark-submit ARGUMENTS"}, {"convert --master yarn", "-- spark-submit"}, {"convert -- spark-submit --mastr yarn a.py", "--master?"},
		{"convert -o jason -- a.py", "json?"},
	},
	"delete": {
		{"delte pi", "delete?"}, {"delete pi --dry-run", "none, client, server"}, {"delete pi --dry-run=clinet", "client?"}, {"delete schedulesparkapp/nightly", "scheduledsparkapp?"},
		{"delete sparkap pi", "sparkapp?"},
	},
	"explain": {
		{"explian pi", "explain?"}, {"describe pi", "explain?"}, {"explain pii", "pi?"}, {"explain sparkap/pi", "sparkapp?"}, {"explain pi -o ymal", "yaml?"},
	},
	"help": {{"help lgos", "logs?"}, {"hlep", "help?"}, {"help get", "list"}, {"help completion bsh", "bash?"}, {"help submit", "convert"}},
	"list": {
		{"lits", "list?"}, {"get pi", "list"}, {"list --state runnin", "running?"}, {"list shedules", "schedules?"}, {"list -o wid", "wide?"},
	},
	"logs": {
		{"log pi", "logs?"}, {"logs pi --tail abc", "number such as 10"}, {"logs pi -tail 3", "--tail?"}, {"logs pi --since 10", "10s"}, {"logs pi --executor al", "all"},
	},
	"options": {{"optoins", "options?"}, {"option", "options?"}, {"options list", "write kubectl spark options"}, {"options --verbose", "kubectl spark options"}, {"options --hepl", "--help?"}},
	"queue":   {{"queu", "queue?"}, {"queue pi", "write kubectl spark queue"}, {"queue -o yml", "yaml?"}, {"queue --all-namespace", "--all-namespaces?"}, {"queue --quueue x", "--queue?"}},
	"render":  {{"rendr", "render?"}, {"render", "render -f FILE"}, {"render pi.yaml", "render -f pi.yaml"}, {"render -f x -o yml", "yaml?"}, {"render -f x --submit-tme y", "--submit-time?"}},
	"rerun":   {{"rerrun pi", "rerun?"}, {"restart pi", "rerun?"}, {"rerun p", "pi?"}, {"rerun sparkapps/pi", "sparkapp?"}, {"rerun", "[TYPE/]NAME"}},
	"resume":  {{"resmue pi", "resume?"}, {"resume pi --dryrun=client", "--dry-run?"}, {"resume sparkclusters.spark.apache.og/lab", "sparkclusters.spark.apache.org?"}, {"resume ip", "pi?"}, {"resume --all=yes", "--all=false"}},
	"suspend": {{"supend pi", "suspend?"}, {"stop pi", "suspend"}, {"suspend --selctor a=b", "--selector?"}, {"suspend sparkcon/notebooks", "sparkconn?"}, {"suspend sparkcluster/laab", "lab?"}},
	"trigger": {{"triger nightly", "trigger?"}, {"trigger nightyl", "nightly?"}, {"trigger nightly --max-active two", "number such as 10"}, {"trigger nightly --form 2026-01-01", "--from?"}, {"trigger", "trigger NAME"}},
	"ui":      {{"iu pi", "ui?"}, {"ui --port abc", "number such as 10"}, {"ui pi --wait 10", "10s"}, {"ui ppi", "pi?"}, {"ui", "ui NAME"}},
	"validate": {
		{"valdate", "validate?"}, {"lint", "validate?"}, {"validate", "validate -f FILE"}, {"validate pi.yaml", "validate -f pi.yaml"}, {"validate --flename x", "--filename?"},
	},
	"version": {{"vesion", "version?"}, {"version --client", "kubectl spark version"}, {"version -c", "kubectl spark version"}, {"version pi", "write kubectl spark version"}, {"version --hepl", "--help?"}},
	"wait":    {{"wiat pi", "wait?"}, {"wait pi --timeout 10", "10s"}, {"wait pi --for complted", "completed?"}, {"wait pi --for executorready", "ExecutorsReady?"}, {"wait pi --tiemout 10s", "--timeout?"}},
}

func TestMistakes(t *testing.T) {
	newAPI(t, inState("pi", v1beta2.ApplicationStateRunning), nightly("nightly"), served("notebooks"), ofCluster("lab", func(*v1.SparkCluster) {}))
	for _, c := range newCommand(genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		if n := len(mistakes[c.Name()]); n != 5 {
			t.Errorf("%s: %d mistakes, want 5", c.Name(), n)
		}
	}
	elsewhere := []mistake{
		{"status pi", "explain?"}, {"why pi", "explain?"}, {"submit app.py", "kubectl apply -f"}, {"run app.py", "kubectl apply -f"}, {"apply -f x", "kubectl apply -f"}, {"gibberish", "--help"},
		{"--version", "kubectl spark version"}, {"list --all", "--all-namespaces?"}, {"queue --all", "--all-namespaces?"}, {"explain gibberish/pi", "the types are"}, {"logs pi ---tail", "--help"}, {"list --state ''\"", "commas"}, {"trigger x --max-active 99999999999", "too large"},
		{"logs pi --previous -f", "error: --follow and --previous cannot be combined; write one of them"},
	}
	for _, of := range mistakes {
		elsewhere = append(elsewhere, of...)
	}
	for _, m := range elsewhere {
		out, errOut, code := execute(t, "", strings.Fields(m.line)...)
		if code == 0 || out != "" || !strings.HasPrefix(errOut, "error: ") || !strings.Contains(strings.ToLower(errOut), strings.ToLower(m.meant)) {
			t.Errorf("%s: exit code %d, want %q in %s%s", m.line, code, m.meant, out, errOut)
		}
	}
}

// gosWords are those of the libraries that read values.
var gosWords = regexp.MustCompile(`strconv|(^|[ "])time:|pflag|invalid syntax|parse error|flag needs|invalid argument|unknown flag|required flag`)

// everyCommand are those that run.
func everyCommand(of *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range of.Commands() {
		all = append(append(all, c), everyCommand(c)...)
	}
	return all
}

// Every value of every flag that is read as something else than a text is refused in words for people, and so is a flag that is missing.
func TestFlagsAreRefusedInWords(t *testing.T) {
	read, required := 0, 0
	for _, c := range everyCommand(newCommand(genericiooptions.NewTestIOStreamsDiscard())) {
		path := strings.Fields(c.CommandPath())[2:]
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			lines := [][]string{{"--" + f.Name + "=?\""}}
			if f.NoOptDefVal == "" {
				lines = append(lines, []string{"--" + f.Name})
			}
			if _, needed := f.Annotations[cobra.BashCompOneRequiredFlag]; needed {
				lines = append(lines, nil)
				required++
			}
			if _, one := f.Value.(choice); !one && slices.Contains([]string{"string", "stringArray"}, f.Value.Type()) {
				lines = lines[1:]
			}
			for _, line := range lines {
				read++
				_, errOut, code := execute(t, "", slices.Concat(path, line)...)
				if code == 0 || gosWords.MatchString(errOut) || len(line) > 0 && !strings.Contains(errOut, "--"+f.Name+": ") {
					t.Errorf("%s %s: exit code %d, %s", c.CommandPath(), line, code, errOut)
				}
			}
		})
	}
	if read < 100 || required < 2 {
		t.Errorf("%d values of flags and %d required flags were found: the test does not see what it should", read, required)
	}
}
