import { readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import { isPlainObject } from '#base/plain-object.ts'
import { UsageError } from '#cli/failure.ts'
import { jsonIn, valueOf, type Flag } from '#cli/flags.ts'

/** The values of each flag, by field; a switch gives "true" or "false". */
export type Given = ReadonlyMap<string, readonly string[]>

async function contentOf(path: string, flag: string): Promise<string> {
  if (path === '-') return readAll(process.stdin)
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${flag}: the file cannot be read: ${reason}`)
  }
}

/** `@file` is replaced by the file's content, without its last line break as in `$(cat file)`; `@@` by one `@`. */
async function resolved(text: string, flag: Flag): Promise<string> {
  if (!text.startsWith('@') || !(flag.form === 'text' || flag.form === 'json')) return text
  if (text.startsWith('@@')) return text.slice(1)
  return (await contentOf(text.slice(1), flag.flag)).replace(/\r?\n$/, '')
}

async function wholeBody(given: string | undefined): Promise<object> {
  if (given === undefined) return {}
  const body = jsonIn(given.trimStart().startsWith('{') ? given : await contentOf(given, '--json'), '--json')
  if (isPlainObject(body)) return body
  throw new UsageError('--json must be a JSON object')
}

/** The request body: --json, with the flags over it. */
export async function bodyOf(
  flags: readonly Flag[],
  given: Given,
  json: string | undefined,
): Promise<Record<string, unknown>> {
  const body: Record<string, unknown> = { ...(await wholeBody(json)) }
  for (const flag of flags) {
    const texts = given.get(flag.field)
    if (!texts) continue
    body[flag.field] = valueOf(flag, await Promise.all(texts.map(text => resolved(text, flag))))
  }
  const missing = flags.filter(flag => flag.required && body[flag.field] === undefined)
  if (missing.length === 0) return body
  throw new UsageError(`${missing.map(({ flag }) => flag).join(' and ')} must be given, or be part of --json`)
}
