import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { isMap, isScalar, stringify } from 'yaml'
import { checkConfig } from '#cli/agent/config.ts'
import { parseConfig, readConfigText, type ConfigText } from '#cli/agent/config-file.ts'
import { ConfigError } from '#cli/failure.ts'

const OWNER_ONLY = 0o600
const OWNER_FOLDER = 0o700

/** Writes the authtoken into the agent's file and leaves everything else in it as it is. */
export function addAuthtoken(path: string, token: string): void {
  const present = readConfigText(path)
  if (present) checkConfig(present)
  const text = present ? withToken(present, token) : `version: 1\n${line(token)}`
  mkdirSync(dirname(path), { recursive: true, mode: OWNER_FOLDER })
  replaceFile(present ? realpathSync(path) : path, text)
}

const line = (token: string): string => `authtoken: ${scalar(token)}\n`
const scalar = (token: string): string => stringify(token, { lineWidth: 0 }).trimEnd()

/** The new text: the value replaced where it stands, or a line more at the end. */
function withToken({ path, text, document }: ConfigText, token: string): string {
  const { contents } = document
  const node = isMap(contents) ? contents.get('authtoken', true) : undefined
  const [start, end] = isScalar(node) && node.range ? node.range : [text.length, text.length]
  const edited = isScalar(node)
    ? text.slice(0, start) + scalar(token) + text.slice(end)
    : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${line(token)}`
  if (holds(path, edited, token)) return edited
  // Braces, or an end marker: the text cannot simply be lengthened, so that it is written anew.
  document.set('authtoken', token)
  const rewritten = document.toString({ lineWidth: 0 })
  if (holds(path, rewritten, token)) return rewritten
  throw new ConfigError(`${path} has a form that cannot be changed; write "authtoken:" into it by hand`)
}

function holds(path: string, text: string, token: string): boolean {
  try {
    return checkConfig(parseConfig(path, text)).settings.get('authtoken')?.raw === token
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}

/** A crash leaves the old file or the new one, and nobody else can read either. */
function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    const file = openSync(temporary, 'wx', OWNER_ONLY)
    try {
      writeSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw new ConfigError(`${path} cannot be written: ${(error as NodeJS.ErrnoException).code ?? ''}`)
  }
}
