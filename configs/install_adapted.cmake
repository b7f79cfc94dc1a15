# Units and settings name the program and the folder of settings as a Debian package has them; here, as they are installed,
# the names become those below CMAKE_INSTALL_PREFIX, which --prefix may have changed since the build was configured.
# Given: `configs`, this folder; `adapted`, a folder for what is to be installed; CMAKE_INSTALL_BINDIR, _LIBDIR, _SYSCONFDIR.
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX)  # --prefix may be relative
include(GNUInstallDirs)
foreach(file systemd/skewscope-gather.service systemd/skewscope-gather.socket systemd/skewscope-ship@.service gather.toml)
  file(READ ${configs}/${file} text)
  string(REPLACE "/usr/bin/skewscope" "${CMAKE_INSTALL_FULL_BINDIR}/skewscope" text "${text}")
  string(REPLACE "/etc/skewscope" "${CMAKE_INSTALL_FULL_SYSCONFDIR}/skewscope" text "${text}")
  file(WRITE ${adapted}/${file} "${text}")
endforeach()
file(INSTALL ${adapted}/systemd/ DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)
if(NOT EXISTS $ENV{DESTDIR}${CMAKE_INSTALL_FULL_SYSCONFDIR}/skewscope/gather.toml)  # the site's own stays
  file(INSTALL ${adapted}/gather.toml DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/skewscope)
endif()
