import { totalmem } from 'node:os'

const MEBIBYTE = 1024 * 1024

/** What this process may use: the limit of its container, or the memory of the machine. */
function available(): number {
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

/** A part of the memory that there is, in bytes, within bounds in mebibytes. */
export const memoryPart = (
  part: number,
  { least, most }: { readonly least: number; readonly most: number },
) => Math.round(Math.min(most * MEBIBYTE, Math.max(least * MEBIBYTE, available() * part)))
