import { existsSync, fstatSync, openSync, readFileSync, closeSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
} from 'yaml'
import { syntaxProblem } from '#base/yaml-problem.ts'
import { ConfigError } from '#cli/failure.ts'
import { isHostedName } from '#cli/invoked-as.ts'

const MAX_BYTES = 262_144
const MAX_ALIASES = 100
const OTHERS_WRITE = 0o002
/** Modes of the file, which holds an authtoken, and of its folder. */
export const OWNER_ONLY = 0o600
export const OWNER_FOLDER = 0o700

/** A value with its position, as path:line:column. */
export interface FileValue {
  readonly raw: unknown
  readonly at: string
}

/** A parsed agent file with its source positions. */
export interface ConfigText {
  readonly path: string
  readonly text: string
  readonly document: Document
  /** path:line:column of a node. */
  readonly at: (node: unknown) => string
}

/** The default path of the agent's file. */
export function configPath(environment: NodeJS.ProcessEnv, platform = process.platform): string {
  if (isHostedName) {
    const [usual = '', ...others] = hostedPaths(environment, platform)
    return [usual, ...others].find(path => existsSync(path)) ?? usual
  }
  const home = environment['HOME'] ?? homedir()
  const xdg = environment['XDG_CONFIG_HOME']
  if (xdg !== undefined && xdg !== '') return join(xdg, 'adit', 'adit.yml')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'adit', 'adit.yml')
  if (platform === 'win32')
    return join(environment['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local'), 'adit', 'adit.yml')
  return join(home, '.config', 'adit', 'adit.yml')
}

/** Default paths of the hosted agent's file, in its third and second version. */
export function hostedPaths(environment: NodeJS.ProcessEnv, platform = process.platform): string[] {
  const home = environment['HOME'] ?? homedir()
  const old = join(home, '.ngrok2', 'ngrok.yml')
  if (platform === 'darwin') return [join(home, 'Library', 'Application Support', 'ngrok', 'ngrok.yml'), old]
  if (platform === 'win32')
    return [join(environment['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local'), 'ngrok', 'ngrok.yml'), old]
  return [join(environment['XDG_CONFIG_HOME'] || join(home, '.config'), 'ngrok', 'ngrok.yml'), old]
}

/** Undefined when there is none. */
export function readConfigText(path: string): ConfigText | undefined {
  const text = contentOf(path)
  return text === undefined ? undefined : parseConfig(path, text)
}

function contentOf(path: string): string | undefined {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    const stats = fstatSync(file)
    const { mode, size } = stats
    // Anyone who can write it controls what this account runs and exposes.
    if (process.platform !== 'win32' && stats.isFile() && (mode & OTHERS_WRITE) !== 0)
      throw new ConfigError(`${path} is world-writable; fix it with chmod o-w`)
    if (size > MAX_BYTES) throw new ConfigError(`${path} is larger than ${MAX_BYTES} bytes`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const { code = '' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new ConfigError(`${path} cannot be read: ${code}`)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

export function parseConfig(path: string, text: string): ConfigText {
  const lines = new LineCounter()
  const document = parsed(path, text, lines)
  const at = (node: unknown): string => {
    const start = (node as Node | undefined)?.range?.[0] ?? 0
    const { line, col } = lines.linePos(start)
    return `${path}:${Math.max(line, 1)}:${Math.max(col, 1)}`
  }
  const [error] = document.errors
  if (error) throw new ConfigError(syntaxProblem(path, error, lines))
  boundAliases(document, at)
  return { path, text, document, at }
}

function parsed(path: string, text: string, lineCounter: LineCounter): Document {
  try {
    return parseDocument(text, { lineCounter, uniqueKeys: true, prettyErrors: true, version: '1.2' })
  } catch (error) {
    if (error instanceof RangeError) throw new ConfigError(`${path}:1:1: it is nested too deeply`)
    throw error
  }
}

/** Each alias is a copy of its anchor, so their number limits what a small file can expand to. */
function boundAliases(document: Document, at: (node: unknown) => string): void {
  let count = 0
  visit(document, {
    Alias(_, alias) {
      count++
      if (count > MAX_ALIASES) throw new ConfigError(`${at(alias)}: a file may have ${MAX_ALIASES} aliases`)
      if (alias.resolve(document) === undefined)
        throw new ConfigError(`${at(alias)}: there is no anchor "${alias.source}" before this`)
    },
  })
}

/** The value of a node. */
function resolved(node: unknown, document: Document): unknown {
  return isAlias(node) ? node.resolve(document) : node
}

/** The pairs of a map; undefined when it is not one. An empty value is an empty map. */
export function pairsOf(node: unknown, document: Document): Pair[] | undefined {
  const map = resolved(node, document)
  if (map === null || map === undefined || (isScalar(map) && map.value === null)) return []
  return isMap(map) ? map.items : undefined
}

/** A string, number, flag, list or map of such as a plain value; deeper nesting is ignored. */
export function plainValue(node: unknown, document: Document, depth = 2): unknown {
  const value = resolved(node, document)
  if (isScalar(value)) return value.value
  if (depth === 0) return undefined
  if (isSeq(value)) return value.items.map(item => plainValue(item, document, depth - 1))
  if (!isMap(value)) return undefined
  const entries = value.items
    .filter(isPair)
    .map(({ key, value: inner }) => [keyOf(key), plainValue(inner, document, depth - 1)])
  return Object.fromEntries(entries) as unknown
}

export const keyOf = (key: unknown): string => String(isScalar(key) ? key.value : key)
