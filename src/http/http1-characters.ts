/** Allowed bytes in a head, by table: a regular expression for every line costs more. */
function table(allowed: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (allowed(code) ? 1 : 0))
}

const among =
  (characters: string) =>
  (code: number): boolean =>
    characters.includes(String.fromCharCode(code))

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const DIGITS = '0123456789'
const TOKEN = `!#$%&'*+-.^_\`|~${DIGITS}${LETTERS}`

/** Field names in responses: HTTP tokens. */
export const tokenCharacters = table(among(TOKEN))

/** Field names in requests: many services treat "_" as "-", so a name with it can pass for another one. */
export const nameCharacters = table(among(TOKEN.replace('_', '')))

/** Methods are case-sensitive, and those in use are written in capitals. */
export const methodCharacters = table(among(`${LETTERS.slice(0, 26)}${DIGITS}-`))

/** Values: no control characters except tab. */
export const valueCharacters = table(code => code === 0x09 || (code >= 0x20 && code !== 0x7f))

/** Targets: visible ASCII without "#" and without the backslash, which some treat as "/". */
export const targetCharacters = table(code => code > 0x20 && code < 0x7f && code !== 0x23 && code !== 0x5c)

/** Whether a part of a text has only characters of a table. */
export function allIn(characters: Uint8Array, text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (characters[text.charCodeAt(at)] !== 1) return false
  return true
}
