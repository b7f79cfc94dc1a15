# cpack runs this between installing and packing: documents become what Debian's policy asks for. adduser makes the user
# (postinst), also where there is no systemd: sysusers.d would be a second way.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
set(documents ${root}/usr/share/doc/skewscope)
string(TIMESTAMP day "%a, %d %b %Y %H:%M:%S +0000" UTC)  # SOURCE_DATE_EPOCH's, where it is set
file(WRITE ${documents}/changelog.Debian
"skewscope (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) stable; urgency=medium

  * skewscope ${CPACK_PACKAGE_VERSION}: changelog.gz says what changed.

 -- ${CPACK_PACKAGE_CONTACT}  ${day}
")
file(RENAME ${documents}/CHANGELOG.md ${documents}/changelog)
file(REMOVE ${documents}/LICENSE)  # in /usr/share/common-licenses
file(REMOVE_RECURSE ${root}/usr/lib/sysusers.d)
file(GLOB compressed ${documents}/changelog* ${root}/usr/share/man/man1/*.1)
execute_process(COMMAND gzip --best --no-name --force ${compressed} COMMAND_ERROR_IS_FATAL ANY)
file(INSTALL ${CMAKE_CURRENT_LIST_DIR}/lintian-overrides DESTINATION /usr/share/lintian/overrides RENAME skewscope)  # below DESTDIR
