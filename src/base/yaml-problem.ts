import type { LineCounter, YAMLParseError } from 'yaml'

/** The position and the reason of a syntax error, as path:line:column. */
export function syntaxProblem(path: string, { message, pos }: YAMLParseError, lines: LineCounter): string {
  const { line, col } = lines.linePos(pos[0])
  const [reason = ''] = message.split(/ at line |\n/)
  return `${path}:${line}:${col}: this is not YAML: ${reason}`
}
