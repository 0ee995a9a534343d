#!/bin/sh
# Builds every package, or those that turbo's options name; what turbo says is shown only when a build fails.
said=$(TURBO_TELEMETRY_DISABLED=1 turbo run build --output-logs=errors-only "$@" 2>&1) || { echo "$said"; exit 1; }
