import { readFileSync, writeFileSync } from 'node:fs'

// Imported first by each bundle. The figures of Linux contain the children that have ended, which those of Node lack.
process.on('exit', () => {
  const [, bundle = ''] = process.argv
  try {
    writeFileSync(`${bundle}.stat`, readFileSync('/proc/self/stat'))
  } catch {
    // Another system: only the elapsed time is reported.
  }
})
