import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'

const FILE = 'rotate-acme-account'
const POLL_MS = 2000

/** This file requests a new key. It is deleted when there is one; a stopped server finds it later. */
export const rotationFile = (dataDir: string): string => join(dataDir, FILE)

export const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

/**
 * Rotates the key on request. A SQLite database belongs to one process, so another program cannot request it there;
 * with write access to the data folder it has the keys anyway.
 */
export function followRotation(dataDir: string, change: () => Promise<boolean>, log: Log): () => void {
  const file = rotationFile(dataDir)
  let isBusy = false
  const poll = async (): Promise<void> => {
    if (isBusy || !(await exists(file))) return
    isBusy = true
    try {
      if (await change()) await rm(file, { force: true })
    } finally {
      isBusy = false
    }
  }
  const failed = 'key rotation failed'
  const safely = () => void inBackground({ task: 'acme', log, failed, about: { file } }, poll)
  const timer = setInterval(safely, POLL_MS).unref()
  safely()
  return () => clearInterval(timer)
}
