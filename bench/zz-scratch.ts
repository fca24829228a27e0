import { mkdtempSync } from 'node:fs'
import { Host, makeDomains } from './support/certificates/domains.ts'
import { Shakers } from './support/certificates/shaken.ts'
import { ask, program } from './support/programs.ts'
import { cpuSeconds } from './support/processes.ts'
const domains = await makeDomains(200)
const dir = mkdtempSync('/tmp/certprof/d-')
const prof = process.argv[2] === 'prof'
if (prof) process.env['NODE_OPTIONS'] = '--cpu-prof --cpu-prof-dir=/tmp/certprof/out --cpu-prof-interval=500'
const host = await Host.start(dir, domains)
const child = program('zz-peer.ts')
delete process.env['NODE_OPTIONS']
const { port } = await ask<{ port: number }>(child, { cert: domains[0]!.leaf.certificatePem, key: domains[0]!.leaf.privateKeyPem.reveal() })
const i0 = cpuSeconds([host.pid]); await new Promise(r => setTimeout(r, 3000)); console.log('idle cpu in 3 s', cpuSeconds([host.pid]) - i0)
using shakers = new Shakers()
const names = domains.map(d => d.name)
const servers = { adit: { pid: host.pid, port: host.port, names }, bare: { pid: child.pid!, port, names: names.map(() => names[0]!) } }
for (let i = 0; i < 3; i++) for (const s of Object.values(servers)) await shakers.visit(s)
for (const work of ['resumed', 'full'] as const)
  for (let i = 0; i < Number(process.argv[3] ?? 4); i++)
    for (const [n, s] of Object.entries(servers)) {
      const f = await shakers.rate(work, s)
      console.log(work, n, f.rate!.toFixed(0), (f.cpu!).toFixed(3))
    }
child.disconnect()
await host[Symbol.asyncDispose]()
