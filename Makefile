# Every target is a command that a person could type. The tags give libcontainer its seccomp support and a binary that
# needs no shared library; cmd/pdlt does not compile without them.
SHELL := bash -o pipefail
export GOFLAGS := -tags=seccomp,osusergo,netgo -trimpath -buildvcs=false
export CONFINE_REQUIRE
STATIC := -s -w -linkmode external -extldflags -static
PLATFORMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
RACE := ./confine/native ./internal/... ./runner/... ./mcp/... ./provenance/...
FUZZTIME := 20s
.PHONY: help deps build pack demo check cross lint test race fuzz e2e confine conformance load bench dist clean

help: ## print this list
	@grep -E '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14
deps: ## install the Debian packages that the build needs, if any is missing
	.ci/deps
build: pack ## leave the commands in bin/, static, with the interpreter pack beside them
	CGO_ENABLED=1 go build -ldflags '$(STATIC)' -o bin/ ./cmd/...
pack: ## make bin/pack: our CPython and the native helper
	go run ./confine/internal/pack/build
demo: deps build ## from nothing to one confined program
	echo 'print(6*7)' | bin/pdlt run -
check: lint cross build ## format, vet, staticcheck, other systems, laws, tests: what CI runs first
	go test -count=1 ./test/law && go test -short ./...
lint: ## format, vet and staticcheck
	test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./... && go run $(STATICCHECK) ./...
cross: ## build and vet everything, tests included, for the systems we may not be on
	for os in darwin windows; do CGO_ENABLED=0 GOOS=$$os go vet ./... && CGO_ENABLED=0 GOOS=$$os go build -o /dev/null ./... && CGO_ENABLED=0 GOOS=$$os go test -c -o /dev/null ./... || exit; done
test: build ## everything this machine can prove, with a count and the reasons of what was skipped
	(go test -count=1 -json ./... && go test -count=1 -race -json $(RACE)) | go run ./test/tally
race: ## the concurrent packages under the race detector
	go test -race $(RACE)
fuzz: ## every fuzz target for FUZZTIME
	for p in $$(go list ./...); do for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit; done; done
e2e: build ## the commands as a user meets them
	go test -count=1 ./test/e2e
confine: build ## the conformance suite and the attack corpus against each backend
	go test -count=1 -json ./test/confine | go run ./test/tally
conformance: build ## other people's clients and suites
	.ci/deps clients && go test -count=1 ./test/conformance ./test/conformance/bridge
load: build ## bounded load and soak: what is left after many runs
	go test -count=1 ./test/load
bench: build ## measure beside a bare interpreter: one line each, "bench NAME VALUE"
	go run ./test/bench
dist: build ## interpreter packs for all platforms as archives, and this machine's commands, in dist/
	for p in $(PLATFORMS); do go run ./confine/internal/pack/build -os $${p%-*} -arch $${p#*-} -archive dist/pack-$$p.tar.zst || exit; done
	for c in $$(go list -f '{{.Name}}:{{.Dir}}' ./cmd/... | sed -n 's/^main:.*\///p'); do cp bin/$$c dist/$$c-$$(go env GOOS)-$$(go env GOARCH) || exit; done
clean: ## remove bin/ and dist/
	if [ -e bin ]; then chmod -R u+w bin; fi && rm -rf bin dist
