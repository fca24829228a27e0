import { variableOf } from '#base/read-settings.ts'
import { Secret } from '#base/secrets.ts'
import type { Setting } from '#base/settings/setting.ts'
import { settings } from '#base/settings.ts'
import { secretText } from './secrets.ts'

/** Texts that settings for secrets take, one or the other, with a secret in them. */
const forms: readonly ((secret: string) => string)[] = [
  secret => `name=${secret}`,
  secret => `client:${secret}`,
  secret => Buffer.from(secret.slice(0, 32).padEnd(32, 'x')).toString('hex'),
]

const holdsSecret = (value: unknown): boolean =>
  value instanceof Secret ||
  (value instanceof Map && [...value.values()].some(holdsSecret)) ||
  (typeof value === 'object' && value !== null && Object.values(value).some(holdsSecret))

/** A text with a secret in it that the setting takes as one; undefined when it is not for secrets. */
const secretFor = (name: string, { read }: Setting<unknown>): string | undefined =>
  forms
    .map(form => form(secretText(name)))
    .find(text => {
      try {
        return holdsSecret(read(text))
      } catch {
        return false
      }
    })

/** Every setting that is a secret, given as a variable. */
export const secretSettings: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries<Setting<unknown>>(settings).flatMap(([name, setting]) => {
    const text = secretFor(name, setting)
    return text === undefined ? [] : [[variableOf(name), text]]
  }),
)
