/** The node that a gateway process belongs to: `nd_X` itself, or its worker `nd_X.w1`. */
export function machineOf(process: string): string {
  const dot = process.indexOf('.')
  return dot === -1 ? process : process.slice(0, dot)
}
