import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { Secret, type Sealer } from '#base/secrets.ts'
import type { GatewayKeys } from '#gateway/gateway-options.ts'
import type { Store } from '#store/store.ts'

const META = 'gateway_keys'
const PROOF_BYTES = 32
const TICKET_BYTES = 48

interface StoredKeys {
  readonly proofs: string
  readonly tickets: string
  readonly ssh_host: string
}

function made(): StoredKeys {
  const { privateKey } = generateKeyPairSync('ed25519')
  return {
    proofs: randomBytes(PROOF_BYTES).toString('base64'),
    tickets: randomBytes(TICKET_BYTES).toString('base64'),
    ssh_host: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  }
}

/** The keys shared by all gateways of an installation, encrypted in its store; created at the first start. */
export async function openGatewayKeys(store: Store, sealer: Sealer): Promise<GatewayKeys> {
  const sealed =
    (await store.readMeta(META)) ?? (await store.claimMeta(META, sealer.seal(JSON.stringify(made()), META)))
  const stored = JSON.parse(sealer.unseal(sealed, META)) as StoredKeys
  return {
    proofs: Buffer.from(stored.proofs, 'base64'),
    tickets: Buffer.from(stored.tickets, 'base64'),
    sshHost: new Secret(stored.ssh_host),
  }
}
