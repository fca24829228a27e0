import { clientFacts } from '#pki/client-facts.ts'
import { readPem } from '#pki/pem.ts'
import { readFileSync } from 'node:fs'
for (const f of process.argv.slice(2)) console.log(JSON.stringify(clientFacts(readPem(readFileSync(f,'utf8'))[0]!.der)))
