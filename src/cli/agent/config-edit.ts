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
import { isScalar, stringify } from 'yaml'
import { checkConfig } from '#cli/agent/config.ts'
import {
  OWNER_FOLDER,
  OWNER_ONLY,
  parseConfig,
  readConfigText,
  type ConfigText,
} from '#cli/agent/config-file.ts'
import { hostedVersion } from '#cli/agent/hosted-config.ts'
import { ConfigError } from '#cli/failure.ts'

/** The settings that commands write, and their position in each file version. */
const places = {
  authtoken: { own: ['authtoken'], 2: ['authtoken'], 3: ['agent', 'authtoken'] },
  server: { own: ['server'], 2: ['server_addr'], 3: ['agent', 'connect_url'] },
} as const
type WrittenSetting = keyof typeof places

/** Writes one setting to the agent's file and leaves the rest unchanged. */
export function writeSetting(path: string, name: WrittenSetting, value: string): void {
  const present = readConfigText(path)
  if (present) checkConfig(present)
  const text = present ? withValue(present, name, value) : `version: 1\n${line(name, value)}`
  mkdirSync(dirname(path), { recursive: true, mode: OWNER_FOLDER })
  replaceFile(present ? realpathSync(path) : path, text)
}

const line = (key: string, value: string): string => `${key}: ${scalar(value)}\n`
const scalar = (value: string): string => stringify(value, { lineWidth: 0 }).trimEnd()

/** The new text: the value replaced in place, or a line added. */
function withValue(present: ConfigText, name: WrittenSetting, value: string): string {
  const { path, text, document } = present
  const version = hostedVersion(present)
  const place = places[name][version === '2' || version === '3' ? version : 'own']
  const node: unknown = document.getIn(place, true)
  const [start, end] = isScalar(node) && node.range ? node.range : [text.length, text.length]
  const added = place.length === 1 ? line(place[0], value) : ''
  const edited = isScalar(node)
    ? text.slice(0, start) + scalar(value) + text.slice(end)
    : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${added}`
  if (holds(path, edited, name, value)) return edited
  // With braces, an end marker or a nested map text cannot be appended, so the file is rewritten.
  document.setIn(place, value)
  const rewritten = document.toString({ lineWidth: 0 })
  if (holds(path, rewritten, name, value)) return rewritten
  throw new ConfigError(
    `${path} cannot be changed automatically; write "${place.join('.')}:" into it by hand`,
  )
}

function holds(path: string, text: string, name: WrittenSetting, value: string): boolean {
  try {
    return checkConfig(parseConfig(path, text)).settings.get(name)?.raw === value
  } catch (error) {
    if (error instanceof ConfigError) return false
    throw error
  }
}

/** A crash leaves the old file or the new one, and only its owner can read either. */
export function replaceFile(path: string, text: string): void {
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
