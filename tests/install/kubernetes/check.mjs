// Each document of the YAML files that are named: {"document", "problem"}, by Kubernetes' schema of its version and kind.
import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';

const checked = [];
for (const file of process.argv.slice(2)) {
  for (const read of parseAllDocuments(readFileSync(file, 'utf8'), { version: '1.1', merge: true })) {
    const document = read.toJS();
    let problem = read.errors.map(String).join('; ');
    if (!problem) {
      const { [document.kind]: Kind } = await import(`kubernetes-models/${document.apiVersion}`);
      try {
        new Kind(document).validate();
      } catch (error) {
        problem = error.message;
      }
    }
    checked.push({ document, problem });
  }
}
console.log(JSON.stringify(checked));
