import { totalmem } from 'node:os'

const MEBIBYTE = 1024 * 1024

/** The memory limit of this process: that of its container, or the memory of the machine. */
function available(): number {
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

/** A fraction of the available memory, in bytes, within bounds in mebibytes. */
export const memoryPart = (
  part: number,
  { least, most }: { readonly least: number; readonly most: number },
) => Math.round(Math.min(most * MEBIBYTE, Math.max(least * MEBIBYTE, available() * part)))
