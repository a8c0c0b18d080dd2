"use strict";
// Runs a Node.js program and tells which values functions of the project were given and returned.
//
//     node trace_calls.cjs NAMES file [arguments]
//
// Only functions and methods that a CommonJS module exports are seen. What the program prints is not shown; the exit
// code is always 0.

const fs = require("node:fs");
const Module = require("node:module");
const path = require("node:path");
const util = require("node:util");

const MAX_CALLS = 2;
const MAX_VALUE_CHARS = 60;
const [names, file, ...rest] = process.argv.slice(2);
const wanted = names.split(",");
const told = new Map(wanted.map((name) => [name, []]));
const root = process.cwd() + path.sep;
const wrapped = new WeakSet();

function show(value) {
  let text = "?";
  try {
    text = util.inspect(value, { breakLength: Infinity, depth: 1 });
  } catch {
    // an object of the project, half made
  }
  return text.length <= MAX_VALUE_CHARS ? text : text.slice(0, MAX_VALUE_CHARS - 1) + "…";
}

function follow(name, original) {
  if (wrapped.has(original)) {
    return original;
  }
  const wrapper = function (...given) {
    const shown = given.map(show).join(", ");
    const result = new.target ? Reflect.construct(original, given, new.target) : original.apply(this, given);
    const line = `${name}(${shown}) gave ${show(result)}`;
    const lines = told.get(name).filter((each) => each !== line);
    told.set(name, [...lines, line].slice(-MAX_CALLS));
    return result;
  };
  wrapped.add(wrapper);
  return Object.assign(wrapper, original);
}

function wrap(exported) {
  for (const name of Object.keys(exported)) {
    const value = exported[name];
    if (typeof value !== "function") {
      continue;
    }
    if (wanted.includes(name)) {
      exported[name] = follow(name, value);
    } else if (value.prototype) {
      for (const method of wanted) {
        const own = Object.getOwnPropertyDescriptor(value.prototype, method);
        if (own && typeof own.value === "function") {
          value.prototype[method] = follow(method, own.value);
        }
      }
    }
  }
}

const load = Module._load;
Module._load = function (request, parent, isMain) {
  const exported = load.call(this, request, parent, isMain);
  try {
    const found = Module._resolveFilename(request, parent);
    if (found.startsWith(root) && !found.includes("node_modules") && exported && typeof exported === "object") {
      wrap(exported);
    }
  } catch {
    // what cannot be found, or is frozen, is not followed
  }
  return exported;
};

function tell() {
  const lines = wanted.flatMap((name) => told.get(name));
  fs.writeSync(1, lines.length ? lines.join("\n") + "\n" : "");
  process.reallyExit(0);
}

process.stdout.write = process.stderr.write = () => true;
process.on("exit", tell);
process.on("uncaughtException", tell);
process.on("unhandledRejection", tell);
process.argv = [process.argv[0], path.resolve(file), ...rest];
require(path.resolve(file));
