package web_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"holdpoint/internal/app/apptest"
)

var screenshots = flag.Bool("screenshots", false, "write the pictures of docs/images")

// shared is one browser and one Holdpoint for all tests: a tab, or a session of its own, for each.
var shared struct {
	sync.Once
	ctx    context.Context
	cancel context.CancelFunc
	err    error
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if shared.cancel != nil {
		shared.cancel()
	}
	apptest.StopServer()
	os.Exit(code)
}

// chromium finds the browser that `make` installs.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium is installed: `make browser` as root installs Debian's package chromium, or install it yourself")
	return ""
}

func browser(t testing.TB) context.Context {
	t.Helper()
	path := chromium(t)
	shared.Do(func() {
		opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WSURLReadTimeout(60*time.Second))
		if os.Getuid() == 0 {
			opts = append(opts, chromedp.NoSandbox)
		}
		alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
		var end context.CancelFunc
		shared.ctx, end = chromedp.NewContext(alloc)
		shared.cancel = func() { end(); stop() }
		shared.err = chromedp.Do(shared.ctx)
	})
	if shared.err != nil {
		t.Fatalf("the browser did not start: %v", shared.err)
	}
	return shared.ctx
}

// tab is a page of a browser session of its own, with what its console complained about.
type tab struct {
	t    testing.TB
	ctx  context.Context
	base string

	mu     sync.Mutex
	errors []string
}

// open signs a new browser session in by a link.
func open(t testing.TB, h *apptest.Holdpoint, more ...chromedp.ContextOption) *tab {
	t.Helper()
	tb := newTab(t, h.URL(), more...)
	tb.run("sign in", chromedp.Navigate(h.SignInLink()), chromedp.WaitVisible(chromedp.CSS("h1")))
	return tb
}

func newTab(t testing.TB, base string, more ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser(t), append([]chromedp.ContextOption{chromedp.WithNewBrowserContext()}, more...)...)
	t.Cleanup(cancel)
	tb := &tab{t: t, ctx: ctx, base: base}
	if err := chromedp.Do(ctx); err != nil { // without a limit: it would be the tab's
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, tb.listen); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	tb.run("a tab", chromedp.EmulateViewport(1280, 860))
	t.Cleanup(func() {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		for _, e := range tb.errors {
			t.Errorf("the browser complains: %s", e)
		}
	})
	return tb
}

// listen notes script errors and what the content security policy stopped.
func (tb *tab) listen(ev any) {
	text := ""
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += ": " + x.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceSecurity || e.Entry.Source == log.EntrySourceJavascript {
			text = e.Entry.Text
		}
	}
	if text != "" {
		tb.mu.Lock()
		tb.errors = append(tb.errors, text)
		tb.mu.Unlock()
	}
}

const patience = 30 * time.Second

// run does something with the page. A page that is being replaced takes its elements along between two of the driver's
// steps, before anything was done to them: then it begins anew.
func (tb *tab) run(what string, actions ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		ctx, cancel := context.WithTimeout(tb.ctx, patience)
		err := chromedp.Do(ctx, actions...)
		cancel()
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "node") || time.Now().After(deadline) {
			tb.t.Fatalf("%s: %v\n%s", what, err, tb.text())
		}
	}
}

// text is the page's text, for messages of failure.
func (tb *tab) text() (text string) {
	ctx, cancel := context.WithTimeout(tb.ctx, 5*time.Second)
	defer cancel()
	text, _ = chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText.slice(0, 3000)`))
	return text
}

func (tb *tab) goTo(path string) {
	tb.t.Helper()
	tb.run("go to "+path, chromedp.Navigate(tb.base+path), chromedp.WaitReady(chromedp.CSS("main")))
	tb.holds(`document.readyState === "complete"`)
}

// shows waits for a text on the page.
func (tb *tab) shows(text string) {
	tb.t.Helper()
	tb.holds(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// holds waits until an expression of the page is true.
func (tb *tab) holds(expr string) {
	tb.t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for {
		ctx, cancel := context.WithTimeout(tb.ctx, patience)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expr+")"))
		cancel()
		if ok && err == nil { // an error is a page that is being left
			return
		}
		if time.Now().After(deadline) {
			tb.t.Fatalf("waited in vain for %s (%v)\n%s", expr, err, tb.text())
		}
		<-tick.C
	}
}

func eval[T any](tb *tab, expr string) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expr, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.t.Fatalf("%.300s: %v\n%s", expr, err, tb.text())
	}
	return out
}

// click clicks what is there and not locked.
func (tb *tab) click(sel string) {
	tb.t.Helper()
	tb.holds(fmt.Sprintf("((e) => e && !e.disabled && (e.scrollIntoView({block: 'center'}), true))(document.querySelector(%q))", sel))
	tb.run("click "+sel, chromedp.Click(chromedp.CSS(sel)))
}

// press types keys, once the page takes them: neither before its script runs nor while it is being left.
func (tb *tab) press(keys string) {
	tb.t.Helper()
	tb.holds(`"ready" in document.documentElement.dataset`)
	tb.run("press "+keys, chromedp.KeyEvent(keys))
}

// looks makes the tab as large, and as small as a phone, dark or light as the system would be.
func (tb *tab) looks(width, height int64, dark bool) {
	tb.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	tb.run("resize", chromedp.EmulateViewport(width, height))
	if _, err := chromedp.Call(tb.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		tb.t.Fatal(err)
	}
}

// picture writes a picture for the documentation, if it is asked for.
func (tb *tab) picture(name, kind string) {
	tb.t.Helper()
	if !*screenshots || name == "" {
		return
	}
	png, err := chromedp.Run(tb.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		tb.t.Fatal(err)
	}
	dir := filepath.Join("..", "..", "docs", "images")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+kind+".png"), png, 0o644); err != nil {
		tb.t.Fatal(err)
	}
}

// accessible runs axe over the page: nothing serious or critical may be found.
func (tb *tab) accessible() {
	tb.t.Helper()
	script, err := os.ReadFile(filepath.Join("..", "..", "bin", "browser", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		tb.t.Fatalf("axe-core is not installed: run `make browser`: %v", err)
	}
	eval[int](tb, string(script)+";0")
	found := eval[string](tb, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations
		.filter(v => v.impact === "serious" || v.impact === "critical")
		.map(v => v.id + ": " + v.help + "\n" + v.nodes.slice(0, 4).map(n => "    " + n.html.slice(0, 200) + " " + (n.any[0] || n.all[0] || n.none[0] || {message: ""}).message).join("\n")).join("\n"))`)
	if found != "" {
		tb.t.Errorf("%s\n%s", eval[string](tb, "location.pathname + ' ' + innerWidth"), found)
	}
}

// fits checks that nothing makes the page scroll sideways.
func (tb *tab) fits() {
	tb.t.Helper()
	if wide := eval[float64](tb, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != 0 {
		tb.t.Errorf("%s is %v pixels too wide: %s", eval[string](tb, "location.pathname"), wide, eval[string](tb,
			`Array.from(document.querySelectorAll("body *")).filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map(e => e.outerHTML.slice(0, 120)).join(" | ")`))
	}
}
