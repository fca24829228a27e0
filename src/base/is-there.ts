import { statSync } from 'node:fs'

/** Whether a file exists; throws where this user may not look, so that a hidden file is not taken for an absent one. */
export const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined
