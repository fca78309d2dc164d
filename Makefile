# Holdpoint's tasks. `make` alone lists them. What is needed: Go, make, git and bash.
SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO        ?= go
PREFIX    ?= /usr/local
ARGS      ?=
TESTFLAGS ?=
PKG       ?= ./...
# Tests wait for servers and processes more than they compute: two for each core, at least four.
PARALLEL  ?= $(shell n=$$(( 2 * $$(nproc 2>/dev/null || echo 2) )); echo $$(( n < 4 ? 4 : n )))
# The packages whose tests take longest begin first, so that none of them is left alone at the end.
LONGEST   := $(if $(filter ./...,$(PKG)),./internal/app ./api/web)
FUZZTIME  ?= 10m
CHAOS     ?= 3m
FIRE      ?= 1000
SOAK      ?= 30m
TURNS     ?= 1000
LIVES     ?= 5000

.PHONY: help build topology holdpoint temporal temporal-server postgres ferretdb mcp browser screenshots run test lint lint-tools property chaos fire soak long bench bench-postgres fuzz install clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  ARGS=... goes to 'holdpoint dev' in run, PKG=./x/... narrows test, bench and fuzz, TESTFLAGS=... goes to go test."

build: holdpoint temporal ## build bin/holdpoint, and once bin/temporal (the Temporal CLI, if none is on the PATH)

holdpoint:
	@$(GO) build -o bin/holdpoint ./cmd/holdpoint

temporal:
	@tools/temporal/build bin/temporal

# The server that operators run, for measurements on it: HOLDPOINT_TEST_TEMPORAL=postgres go test ./internal/app ...
temporal-server:
	@mkdir -p bin/temporal-server
	@cd tools/temporal && $(GO) build -trimpath -ldflags "-s -w" -o ../../bin/temporal-server/ go.temporal.io/server/cmd/server go.temporal.io/server/cmd/tools/sql

postgres:
	@tools/postgres/install

mcp:
	@tools/mcp/install bin/mcp

browser:
	@tools/browser/install bin/browser

ferretdb:
	@tools/ferretdb/build bin/ferretdb

run: build ## build, then run everything on this machine, with a demo that waits for your approval
	@exec bin/holdpoint dev $(ARGS)

topology: build postgres ## run two workers, two bridges, PostgreSQL and Temporal as processes on loopback (docs/deploy.md)
	@exec deploy/topology

test: build postgres ferretdb mcp browser ## build, then run every test, those against a real Temporal server and a real PostgreSQL too
	$(GO) test -timeout 45m -parallel $(PARALLEL) $(TESTFLAGS) $(LONGEST) $(PKG)

lint: lint-tools ## check format, vet, staticcheck, workflow determinism and known vulnerabilities
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	  if [ -n "$$unformatted" ]; then echo "Not formatted (run gofmt -w):"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	bin/lint/staticcheck ./...
	bin/lint/workflowcheck -config tools/lint/workflowcheck.yaml ./workflows/...
	@tools/lint/vulnerabilities bin/lint/govulncheck

# The tools are built from a module of their own, whose versions are pinned there; Go's cache makes this quick.
lint-tools:
	@mkdir -p bin/lint
	@cd tools/lint && $(GO) build -o ../../bin/lint/ tool

screenshots: build browser ## draw the pictures of docs/images anew
	$(GO) test -count 1 -run TestEveryPage ./api/web -screenshots

property: build ## let LIVES (5000) random runs pass beside the reference model of the gate, a twentieth of them on a real server
	$(GO) test -timeout 60m -count 1 -v -run TestGateDoesAsItsModelSays ./workflows -lives $(LIVES) -real-lives $$(($(LIVES) / 20))

chaos: build postgres ## kill workers, bridges, PostgreSQL and Temporal at random for CHAOS (3m), then audit every effect
	$(GO) test -timeout 30m -count 1 -v -run TestNothingIsLostInChaos ./internal/app -chaos $(CHAOS)

fire: build postgres ## park FIRE (1000) runs, weigh them, approve them, kill everything half-way, then audit every effect
	$(GO) test -timeout 120m -count 1 -v -run TestExactlyOnceUnderFire ./internal/app -fire $(FIRE)

soak: build postgres ## steady load and restarts for SOAK (30m), then audit every effect, and hold memory and goroutines flat
	$(GO) test -timeout 120m -count 1 -v -run TestSteadyLoadLeavesNothingBehind ./internal/app -soak $(SOAK)

long: build ## take one run through TURNS (1000) model calls, with answers and messages all the while
	$(GO) test -timeout 90m -count 1 -v -run TestALongRunLosesNothing ./internal/app -turns $(TURNS)

bench: ## run the benchmarks, and casbin and cedar-go on the same rules
	$(GO) test -run '^$$' -bench . -benchmem $(PKG)
	cd tools/rulesbench && $(GO) test -run '^$$' -bench . -benchmem ./...

bench-postgres: temporal-server postgres ## run the benchmarks of whole runs beside a Temporal server on PostgreSQL
	HOLDPOINT_TEST_TEMPORAL=postgres $(GO) test -run '^$$' -bench 'DecisionToTool|GatedRuns|Cost' -benchtime 1x -timeout 60m ./internal/app

fuzz: ## run each fuzz test for FUZZTIME (10m); PKG=./permission those of one package
	@for pkg in $$($(GO) list $(PKG)); do \
	  for f in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
	    echo "$$pkg $$f"; \
	    $(GO) test -timeout 0 -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$pkg"; \
	  done; \
	done

install: build ## install bin/holdpoint (and bin/temporal, if none is on the PATH) under PREFIX (/usr/local)
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 bin/holdpoint "$(DESTDIR)$(PREFIX)/bin/holdpoint"
	@command -v temporal >/dev/null || install -m 755 bin/temporal "$(DESTDIR)$(PREFIX)/bin/temporal"

clean: ## remove what was built, but not bin/temporal, which takes long (nor .holdpoint, which is your data)
	rm -rf bin/holdpoint bin/lint
	$(GO) clean -testcache
