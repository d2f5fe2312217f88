#!/usr/bin/env node
// Starts the program that the package of this platform carries, and ends as it ends.
"use strict";

const { spawn } = require("node:child_process");

const platform = `tertulia-${process.platform}-${process.arch}`;

function find() {
  try {
    return require.resolve(`${platform}/bin/tertulia`);
  } catch {
    console.error(
      `tertulia: the package ${platform} is not installed. Install tertulia again without --omit=optional; ` +
        "if there is no such package, install tertulia with cargo.",
    );
    process.exit(1);
  }
}

const program = spawn(find(), process.argv.slice(2), { stdio: "inherit" });

// A terminal sends these to the program as well, which decides what they mean.
for (const signal of ["SIGINT", "SIGQUIT"]) {
  process.on(signal, () => {});
}
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => program.kill(signal));
}

program.on("error", (error) => {
  console.error(`tertulia: ${error.message}`);
  process.exitCode = 1;
});
program.on("exit", (code, signal) => {
  if (signal === null) {
    process.exitCode = code;
  } else {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }
});
