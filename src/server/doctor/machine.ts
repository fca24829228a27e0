import { existsSync, readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Settings } from '#base/settings.ts'
import { egressToAuthority } from '#domains/acme.ts'
import { ok, problem, reasonOf, warning, type CheckResult } from '#server/doctor/finding.ts'

const MIB = 1024 * 1024
const LITTLE_SPACE = 100 * MIB
const SOME_SPACE = 1024 * MIB
const FEW_FILES = 1024
const MANY_FILES = 16_384
const MAX_DRIFT_SECONDS = 60
const WAIT_MS = 5000
const NODE_MAJOR = 26

/** Program and runtime. */
export function versions(version: string): CheckResult {
  const detail = `Adit ${version}, Node ${process.version}, ${process.platform} ${process.arch}`
  return Number(process.versions.node.split('.')[0]) >= NODE_MAJOR
    ? ok('versions', detail)
    : problem('versions', detail, `Start it with bin/adit, which uses Node ${NODE_MAJOR}.`)
}

/** Free space for the data folder. */
export async function disk({ data_dir: folder }: Settings): Promise<CheckResult> {
  let existing = resolve(folder)
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing)
  const { bavail, bsize } = await statfs(existing)
  const free = bavail * bsize
  const detail = `${Math.floor(free / MIB)} MiB are free for ${folder}`
  const fix = 'Free some space, or move the data folder (ADIT_DATA_DIR) to a larger disk.'
  if (free < LITTLE_SPACE) return problem('disk', detail, fix)
  return free < SOME_SPACE ? warning('disk', detail, fix) : ok('disk', detail)
}

/** Every connection and every agent stream needs a file. */
export function fileLimit(): CheckResult {
  const check = 'file limit'
  let text: string
  try {
    text = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ok(check, 'not checked: this system does not report it')
  }
  const [, soft = ''] = /^Max open files +(\S+)/m.exec(text) ?? []
  const limit = soft === 'unlimited' ? Infinity : Number(soft)
  const detail = `${soft} open files`
  const fix = `Raise it with "ulimit -n ${MANY_FILES}", or LimitNOFILE=${MANY_FILES} in the systemd unit.`
  if (limit < FEW_FILES) return problem(check, `only ${detail}`, fix)
  return limit < MANY_FILES ? warning(check, `only ${detail}`, fix) : ok(check, detail)
}

/** The clock, compared with that of the CA: certificates and sign-ins depend on it. */
export async function clock(settings: Settings): Promise<CheckResult> {
  const { acme_directory: directory } = settings
  if (directory === undefined)
    return ok('clock', `${new Date().toISOString()}, not compared: ADIT_ACME_DIRECTORY is off`)
  try {
    const { headers } = await egressToAuthority(settings).request(directory, { timeoutMs: WAIT_MS })
    const theirs = Date.parse(headers['date'] ?? '')
    const drift = Math.round(Math.abs(Date.now() - theirs) / 1000)
    if (Number.isNaN(drift)) return ok('clock', 'not compared: the CA does not send its time')
    return drift > MAX_DRIFT_SECONDS
      ? problem(
          'clock',
          `it differs by ${drift} seconds from the CA`,
          'Synchronize it, with timedatectl set-ntp true.',
        )
      : ok('clock', `it differs by ${drift} seconds from the CA`)
  } catch (error) {
    return warning(
      'clock',
      `not compared: ${new URL(directory).host} cannot be reached (${reasonOf(error)})`,
      'Allow outgoing HTTPS to it (a private address: ADIT_EGRESS_ALLOW; a private CA: ADIT_ACME_CA_FILE), or no certificates are issued.',
    )
  }
}
