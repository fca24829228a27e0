import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'

const FILE = 'rotate-acme-account'
const LOOK_MS = 2000

/** By this file people ask for a new key. It is gone when there is one; a server that does not run finds it later. */
export const rotationFile = (dataDir: string): string => join(dataDir, FILE)

export const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

/**
 * Changes the key when somebody asks for it. A database in a file is one process's alone, so another program cannot
 * ask through it; whoever may write into the data folder has the keys in it anyway.
 */
export function followRotation(dataDir: string, change: () => Promise<boolean>, log: Log): () => void {
  const file = rotationFile(dataDir)
  let isBusy = false
  const look = async (): Promise<void> => {
    if (isBusy || !(await isThere(file))) return
    isBusy = true
    try {
      if (await change()) await rm(file, { force: true })
    } finally {
      isBusy = false
    }
  }
  const failed = 'a rotation could not be carried out'
  const safely = () => void inBackground({ task: 'acme', log, failed, about: { file } }, look)
  const timer = setInterval(safely, LOOK_MS).unref()
  safely()
  return () => clearInterval(timer)
}
