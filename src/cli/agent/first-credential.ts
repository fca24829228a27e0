import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { dataFolder } from '#base/running-server.ts'

interface FirstCredential {
  readonly path: string
  /** Empty when there is no such file: the agent was started elsewhere. */
  readonly text: string
  /** Why the file cannot be read. */
  readonly problem?: string
}

/** The credential that a gateway writes to its data folder at the first start. */
export function firstCredential(environment: NodeJS.ProcessEnv): FirstCredential {
  const path = join(dataFolder(environment), 'authtoken')
  try {
    return { path, text: readFileSync(path, 'utf8').trim() }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR'
    return { path, text: '', ...(!isAbsent && { problem: `${path} cannot be read (${code})` }) }
  }
}
