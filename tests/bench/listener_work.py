# SPDX-License-Identifier: ISC
"""What developers do all day, for tests/bench/listener.sh: `prepare DIRECTORY` makes the material,
`run DIRECTORY STATE` does it and prints "STATE name wall-ms cpu-ms" for each kind of work."""
import io, os, resource, shutil, subprocess, sys, tarfile, time

FILES, UNITS, PACKAGES = 3000, 10, 40


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def environment(top):
    # Root's own PATH leads into root's home, where a session has no business.
    return dict(os.environ, PATH="/usr/bin:/bin", HOME=top + "/home", GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="safe.directory",
                GIT_CONFIG_VALUE_0="*", npm_config_cache=top + "/home/npm", npm_config_update_notifier="false")


def pack(path, name):
    with tarfile.open(path, "w:gz") as archive:
        files = {"package.json": '{"name": "%s", "version": "1.0.0"}' % name}
        files.update(("lib/%d.js" % i, "module.exports = %d;\n" % i) for i in range(20))
        for file, text in files.items():
            entry = tarfile.TarInfo("package/" + file)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


def prepare(top):
    repository, units, node = top + "/repository", top + "/units", top + "/node"
    os.makedirs(top + "/home")
    for i in range(FILES):
        write("%s/d%d/f%d" % (repository, i // 50, i), "%d\n" % i)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", repository, *words], check=True, env=environment(top))
    for i in range(UNITS):
        write("%s/u%d.c" % (units, i), "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/socket.h>\n" +
              "".join("int f%d_%d(int x) { printf(\"%%d\", x); return x * %d; }\n" % (i, k, k) for k in range(50)))
    if shutil.which("npm"):
        os.makedirs(node + "/packages")
        for i in range(PACKAGES):
            pack("%s/packages/p%d.tgz" % (node, i), "p%d" % i)
        write(node + "/package.json", '{"name": "x", "version": "1.0.0", "dependencies": {%s}}' %
              ", ".join('"p%d": "file:packages/p%d.tgz"' % (i, i) for i in range(PACKAGES)))
        subprocess.run(["npm", "install", "--offline", "--no-audit", "--no-fund"], check=True, cwd=node,
                       env=environment(top), stdout=subprocess.DEVNULL)
    shutil.copy(__file__, top + "/work.py")
    subprocess.run(["chmod", "-R", "a+rwX", top], check=True)


def timed(state, name, argv, directory, top):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    status = subprocess.run(argv, cwd=directory, env=environment(top), stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if status.returncode and name != "find":
        print("# %s: %s" % (name, status.stderr.decode(errors="replace")[-300:].replace("\n", " ")))
        return
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print("%s %s %.1f %.1f" % (state, name, wall * 1e3, cpu * 1e3), flush=True)


def run(top, state):
    units = ["u%d.c" % i for i in range(UNITS)]
    work = [("find", ["find", "/usr/share", "/usr/lib", "-type", "f", "-size", "+1k"], top),
            ("git", ["git", "status"], top + "/repository"),
            ("build", ["gcc", "-O1", "-shared", "-fPIC", "-o", "x.so", *units], top + "/units")]
    if os.path.exists(top + "/node/package-lock.json"):
        work.append(("npm-ci", ["npm", "ci", "--offline", "--no-audit", "--no-fund"], top + "/node"))
    for name, argv, directory in work:
        for _ in range(1 if name == "npm-ci" else 2):
            timed(state, name, argv, directory, top)


if sys.argv[1] == "prepare":
    prepare(sys.argv[2])
else:
    run(sys.argv[2], sys.argv[3])
