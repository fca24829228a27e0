import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { stringify } from 'yaml'
import { check } from '#cli/agent/config-actions.ts'
import { replaceFile } from '#cli/agent/config-edit.ts'
import { configPath, hostedPaths, OWNER_FOLDER, OWNER_ONLY, readConfigText } from '#cli/agent/config-file.ts'
import { checkConfig, type Config, type FileTunnel } from '#cli/agent/config.ts'
import type { Flags } from '#cli/agent/given-flags.ts'
import { configOf } from '#cli/agent/open.ts'
import { ConfigError, UsageError } from '#cli/failure.ts'
import { printable } from '#cli/printable.ts'

/** `adit config edit`: opens the file in an editor, creating it if needed. */
export async function edit(flags: Flags): Promise<void> {
  const path = configOf(flags) ?? configPath(process.env)
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true, mode: OWNER_FOLDER })
    writeFileSync(path, 'version: 1\n', { mode: OWNER_ONLY, flag: 'wx' })
  }
  const usual = process.platform === 'win32' ? 'notepad' : 'vi'
  const [program = usual, ...args] = (process.env['VISUAL'] || process.env['EDITOR'] || usual).split(' ')
  const child = spawn(program, [...args, path], { stdio: 'inherit' })
  const [code] = (await once(child, 'close').catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(
      `the editor ${program} cannot be started: ${error.code ?? error.message}. Set EDITOR to the one you use.`,
    )
  })) as [number | null]
  if (code !== 0) throw new ConfigError(`the editor ${program} ended with exit code ${code ?? 'none'}`)
  check(path)
}

/** `adit config upgrade`: no file needs one. */
export function upgrade(flags: Flags): void {
  const path = configOf(flags) ?? configPath(process.env)
  const config = present(path)
  process.stdout.write(
    config.hosted === undefined
      ? `${printable(path)} has the newest version, 1.\n`
      : `${printable(path)} has version ${config.hosted} of the hosted agent, which is read as it is. "adit config import" converts it.\n`,
  )
}

function present(path: string): Config {
  const text = readConfigText(path)
  if (text) return checkConfig(text)
  throw new ConfigError(`there is no file ${path}. Create it with "adit config edit"`)
}

export function rejectApiKey(): never {
  throw new UsageError(
    'the agent stores no API key: "adit api" takes it from ADIT_API_KEY or from the file that --key-file names.',
  )
}

/** `adit config import`: converts a file of the hosted agent. */
export function importHosted(file: string | undefined, flags: Flags): void {
  const source = file ?? hostedPaths(process.env).find(path => existsSync(path))
  if (source === undefined)
    throw new UsageError(
      `there is no file of the hosted agent in ${hostedPaths(process.env).join(' or ')}; pass its path`,
    )
  const config = present(source)
  if (config.hosted === undefined) throw new ConfigError(`${source} is already a file of Adit`)
  const text = ownText(config)
  if (flags.has('--dry-run')) process.stdout.write(printable(text))
  else write(configOf(flags) ?? configPath(process.env), source, text)
  for (const remark of config.remarks) process.stdout.write(`no equivalent: ${printable(remark)}\n`)
}

function write(path: string, source: string, text: string): void {
  if (existsSync(path))
    throw new ConfigError(`${path} already exists. Move it, or set another path with --config`)
  mkdirSync(dirname(path), { recursive: true, mode: OWNER_FOLDER })
  replaceFile(path, text)
  process.stdout.write(`${printable(source)} was converted to ${printable(path)}\n`)
}

/** A tunnel that lacks a rule is omitted, for a person to complete. */
function ownText({ settings, tunnels }: Config): string {
  const all = [...tunnels]
  const complete = all.filter(([, { missing }]) => missing.length === 0)
  const left = all.filter(([, { missing }]) => missing.length > 0)
  const content = {
    version: 1,
    ...Object.fromEntries([...settings].map(([name, { raw }]) => [name, raw])),
    ...(complete.length > 0 && {
      tunnels: Object.fromEntries(complete.map(([name, tunnel]) => [name, ownTunnel(tunnel)])),
    }),
  }
  const omitted = left.flatMap(([name, { missing }]) =>
    missing.map(each => `# The tunnel ${JSON.stringify(name)} was omitted: ${printable(each)}\n`),
  )
  return `${omitted.join('')}${stringify(content, { lineWidth: 0 })}`
}

function ownTunnel({ options }: FileTunnel): Record<string, unknown> {
  const tunnel: Record<string, unknown> = {}
  for (const [key, { raw }] of options) {
    const [outer = key, inner] = key.split('.')
    tunnel[outer] = inner === undefined ? raw : { ...(tunnel[outer] as object | undefined), [inner]: raw }
  }
  return tunnel
}
