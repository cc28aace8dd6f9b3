# make run     everything a fresh machine needs, then Magent with a demo model
# make build   the module and byte code, in place
# make test    everything a fresh machine needs, then all tests
# make check   formatting, lints and the checks of the tree
# make bench   figures against their budgets

SHELL := /bin/sh
CARGO ?= cargo
LISP := $(wildcard lisp/*.el)
DEMO_LISP := $(wildcard scripts/demo/*.el scripts/lint/*.el tests/bench/*.el tests/e2e/*.el)
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The suffix that cargo gives to libraries.
SUFFIX := $(if $(filter Darwin,$(shell uname -s)),dylib,so)

# Asked for by each recipe that runs Emacs: it may have to be installed first.
EMACS_BATCH = emacs=$$(sh scripts/ensure-emacs.sh --quiet) && "$$emacs" -Q --batch --eval "(setq load-prefer-newer t)"

.PHONY: all run build test check bench clean need-cargo \
	test-rust test-lisp test-acp test-e2e

all: build

need-cargo:
	@command -v $(CARGO) >/dev/null 2>&1 || { \
	  echo "There is no $(CARGO) on the PATH. Magent needs Rust 1.89 or newer; see https://rustup.rs" >&2; \
	  exit 1; }

build: need-cargo
	$(CARGO) build --release --locked -p magent-module -p magent-demo-provider
	@sh scripts/install-module.sh $(TARGET)/release/libmagent_module.$(SUFFIX) build
	@cp $(TARGET)/release/magent-demo-provider build/magent-demo-provider.new
	@mv build/magent-demo-provider.new build/magent-demo-provider
	@$(EMACS_BATCH) -L lisp -f batch-byte-compile $(LISP)

run: build
	@sh scripts/run.sh

test: need-cargo
	@sh scripts/test.sh

check: need-cargo
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) xtask tidy
	@$(EMACS_BATCH) -L lisp -l scripts/lint/byte-compile.el $(LISP)
	@$(EMACS_BATCH) -l scripts/lint/checkdoc.el $(LISP) $(DEMO_LISP)
	@sh scripts/package-lint.sh $(LISP)

# Once built it takes a minute or two; a figure over its budget is told and no failure.
bench: build
	$(CARGO) build --release --locked -p magent-bench
	@emacs=$$(sh scripts/ensure-emacs.sh --quiet) && \
	  EMACS="$$emacs" sh scripts/bench.sh $(TARGET)/release/magent-bench

clean:
	rm -rf build lisp/*.elc
	$(CARGO) clean
