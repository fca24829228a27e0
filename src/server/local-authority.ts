import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Secret, type Sealer } from '#base/secrets.ts'
import { makeLocalRoot, type TlsIdentity } from '#pki/local-authority.ts'
import { StartError } from '#base/start-error.ts'
import type { Store } from '#store/store.ts'

const META = 'local_authority'
const FILE = 'ca.pem'

interface StoredRoot {
  readonly certificate: string
  readonly sealed_key: string
}

interface LocalRootOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly dataDir: string
  readonly now?: () => number
}

/**
 * The local CA of the installation; created at the first start. Its key is encrypted in the store, so that all
 * processes on one database sign with the same one; its root is in the data folder for people to trust.
 */
export async function openLocalRoot(options: LocalRootOptions): Promise<TlsIdentity> {
  const { store, sealer, dataDir, now = Date.now } = options
  const root = unsealed(
    (await store.readMeta(META)) ?? (await store.claimMeta(META, sealed(await newRoot(now), sealer))),
    sealer,
  )
  publish(join(dataDir, FILE), root.certificatePem)
  return root
}

/** The date distinguishes the roots of several installations in a browser. */
const newRoot = (now: () => number): Promise<TlsIdentity> =>
  makeLocalRoot(`Adit local authority ${new Date(now()).toISOString().slice(0, 10)}`, now())

function sealed(root: TlsIdentity, sealer: Sealer): string {
  const stored: StoredRoot = {
    certificate: root.certificatePem,
    sealed_key: sealer.seal(root.privateKeyPem.reveal(), META),
  }
  return JSON.stringify(stored)
}

function unsealed(text: string, sealer: Sealer): TlsIdentity {
  const stored = JSON.parse(text) as StoredRoot
  return {
    certificatePem: stored.certificate,
    privateKeyPem: new Secret(sealer.unseal(stored.sealed_key, META)),
  }
}

/** Writes the file atomically: another process may be reading it. */
function publish(path: string, pem: string): void {
  const draft = `${path}.${process.pid}`
  try {
    if (readIfThere(path) !== pem) {
      writeFileSync(draft, pem, { flush: true })
      renameSync(draft, path)
    }
    chmodSync(path, 0o644)
  } catch (error) {
    rmSync(draft, { force: true })
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartError(`${path} cannot be written: ${reason}`)
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
