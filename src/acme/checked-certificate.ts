import { OrderEnded } from '#acme/failure.ts'
import { AcmeProblem } from '#acme/problem.ts'
import type { Secret } from '#base/secrets.ts'
import { PkiError } from '#pki/pki-error.ts'
import { readCertificate } from '#pki/x509.ts'

interface CheckedCertificate {
  readonly chainPem: string
  readonly notBefore: number
  readonly notAfter: number
}

const UNUSABLE = "The CA's certificate cannot be used"

const unusable = (why: string): never => {
  throw new OrderEnded(new AcmeProblem('invalidAnswer', `${UNUSABLE}: ${why}`))
}

/** A chain from a CA, if it is valid now for this key and these names. */
export function checkedCertificate(
  pem: string,
  key: Secret,
  { names, now }: { readonly names: readonly string[]; readonly now: number },
): CheckedCertificate {
  const { certificatePem, dnsNames, ...facts } = read(pem, key)
  const missing = names.find(name => !dnsNames.some(other => other.toLowerCase() === name))
  if (missing !== undefined) unusable(`it is not for ${missing}.`)
  const [notBefore, notAfter] = [Date.parse(facts.notBefore), Date.parse(facts.notAfter)]
  if (notAfter <= now) {
    // The order stays: with a clock that is ahead each further one would end like this, until the rate limit.
    const why = `it expired on ${facts.notAfter}. Is the clock of this server right?`
    throw new AcmeProblem('invalidAnswer', `${UNUSABLE}: ${why}`)
  }
  return { chainPem: certificatePem, notBefore, notAfter }
}

function read(pem: string, key: Secret): ReturnType<typeof readCertificate> {
  try {
    return readCertificate(pem, key.reveal())
  } catch (error) {
    if (error instanceof PkiError) return unusable(error.message)
    throw error
  }
}
