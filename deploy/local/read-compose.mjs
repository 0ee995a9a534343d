import yaml from 'js-yaml';

/** Reads a compose file with the defaults of its variables; one without a value is the empty text, as for Docker. */
export function readCompose(text) {
  const file = yaml.load(text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1').replaceAll('$$', '$'));
  for (const { environment = {} } of Object.values(file.services))
    for (const [name, value] of Object.entries(environment)) environment[name] = String(value ?? '');
  return file;
}
