import { join } from 'node:path'

/** The program that tests start. */
export const program = join(import.meta.dirname, '../..', 'bin/adit')
