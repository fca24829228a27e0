/** The wildcards that cover a name, nearest first: `*.b.example.com`, `*.example.com`, `*.com`. */
export function* wildcardsOver(name: string): Generator<string> {
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) yield `*${name.slice(dot)}`
}
