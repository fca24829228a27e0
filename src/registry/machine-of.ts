/** The node that a gateway process belongs to: `nd_X` itself, or its worker `nd_X.w1`. */
export const machineOf = (process: string): string => process.split('.', 1)[0] ?? process
