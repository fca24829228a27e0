/** What a terminal may take for keys when it is pasted: escape sequences, backspaces, the end of a pasted text. */
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

const escaped = (control: string): string => {
  const code = control.charCodeAt(0)
  return code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** A word of a shell command. Control characters need the quotes of bash and zsh, where they are written as escapes. */
export function shellQuoted(text: string): string {
  if (text.search(CONTROLS) < 0) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  return `$'${text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll(CONTROLS, escaped)}'`
}
